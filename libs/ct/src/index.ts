export { commonNameType, organizationType } from './attribute-types';
export type { CrlScope } from './crl/crl-extensions';
export { type Crl, type CrlFault, type CrlReading, readCrl } from './crl/read-crl';
export { type RevokedCertificate, RevokedCertificates } from './crl/revoked-certificates';
export {
  attributeText,
  formatDistinguishedName,
  type NameAttribute,
  readDistinguishedName,
  type RelativeName,
  sameName,
} from './distinguished-name';
export { type CrlSignatureAlgorithm, readSignatureAlgorithm } from './crl/signature-algorithm';
export {
  type CertificateEntry,
  chainCertificates,
  chainFingerprints,
  type EntryChain,
  entryLeafHash,
  type LogEntry,
  type PrecertificateEntry,
  readEntry,
} from './entry';
export {
  checkpointOrigin,
  type CheckpointFault,
  type CheckpointReading,
  readCheckpoint,
  rfc6962KeyId,
} from './heads/checkpoint';
export { type LogKey, readLogKey } from './heads/log-key';
export { type Note, type NoteFault, type NoteReading, type NoteSignature, readNote } from './heads/note';
export {
  readSignedTreeHead,
  type TreeHead,
  type TreeHeadFault,
  type TreeHeadReading,
  treeHeadSignatureFault,
  treeHeadSignatureInput,
} from './heads/tree-head';
export { indexKeys, matchesQuery, type NameQuery, oddKeys, oddQueryKeys, queryKeys } from './index-keys';
export { type FollowedTo, isLagging, lagS, takesNothing } from './log-lag';
export { KnownChains, type TextSpan } from './known-chains';
export { readLeafText } from './leaf-text';
export { type LeafFault, type LeafReading, readEntriesResponse, readLeaf, readLeafJson } from './leaf';
export { type EllipticCurve, keyIdentifiers, type PublicKey, readPublicKey } from './public-key';
export {
  type ListedLog,
  type ListedLogFault,
  type LogList,
  type LogState,
  logStates,
  readLogList,
} from './log-list';
export { CompactTree } from './merkle/compact-tree';
export {
  compactRanges,
  consistencyRanges,
  type HashTile,
  hashOfRange,
  hashTilesOf,
  inclusionRanges,
  type LeafRange,
  type ReadHashTile,
} from './merkle/hash-tiles';
export { emptyRoot, leafHash, nodeHash } from './merkle/hashes';
export {
  type ConsistencyVerdict,
  type InclusionProof,
  checkConsistency,
  type TreeState,
  treeUpTo,
  verifyConsistency,
  verifyInclusion,
} from './merkle/proofs';
export { type ReadingFault, readingFaults } from './reading/faults';
export { type Issued, type IssuedKind, readIssued } from './reading/read-issued';
export { tbsSha256, transparencyTbs } from './tbs';
export { readDataTile, type TileFault, tilePath, type TilePlace, type TileReading, tileWidth } from './tile';
export { TlsReader } from './tls-reader';
