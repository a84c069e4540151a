export { commonNameType, organizationType } from './attribute-types';
export { type Crl, readCrl } from './crl/read-crl';
export { RevokedCertificates } from './crl/revoked-certificates';
export {
  attributeText,
  formatDistinguishedName,
  readDistinguishedName,
  sameName,
} from './distinguished-name';
export { type CrlSignatureAlgorithm, readSignatureAlgorithm } from './crl/signature-algorithm';
export { chainCertificates, chainFingerprints, entryLeafHash, type LogEntry, readEntry } from './entry';
export { checkpointOrigin, readCheckpoint, rfc6962KeyId } from './heads/checkpoint';
export { type LogKey, readLogKey } from './heads/log-key';
export { readNote } from './heads/note';
export { readSignedTreeHead, type TreeHead, treeHeadSignatureInput } from './heads/tree-head';
export { indexKeys, matchesQuery, type NameQuery, oddKeys, oddQueryKeys, queryKeys } from './index-keys';
export { type FollowedTo, isLagging, lagS, takesNothing } from './log-lag';
export { KnownChains, type TextSpan } from './known-chains';
export { readLeafText } from './leaf-text';
export { readEntriesResponse, readLeaf, readLeafJson } from './leaf';
export { keyIdentifiers, type PublicKey, readPublicKey } from './public-key';
export { type ListedLog, type LogList, logStates, readLogList } from './log-list';
export { CompactTree } from './merkle/compact-tree';
export {
  compactRanges,
  consistencyRanges,
  type HashTile,
  hashOfRange,
  hashTilesOf,
  inclusionRanges,
  type LeafRange,
} from './merkle/hash-tiles';
export { emptyRoot, leafHash, nodeHash } from './merkle/hashes';
export {
  type InclusionProof,
  checkConsistency,
  type TreeState,
  treeUpTo,
  verifyConsistency,
  verifyInclusion,
} from './merkle/proofs';
export { type Issued, readIssued } from './reading/read-issued';
export { tbsSha256, transparencyTbs } from './tbs';
export { readDataTile, tilePath, type TilePlace, tileWidth } from './tile';
export { TlsReader } from './tls-reader';
