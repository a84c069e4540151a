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
export { indexKeys, matchesQuery, type NameQuery, queryKeys } from './index-keys';
export { type LeafFault, type LeafReading, readEntriesAnswer, readLeaf, readLeafJson } from './leaf';
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
  compactTreeFromTiles,
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
  type InclusionProof,
  type TreeState,
  treeUpTo,
  verifyConsistency,
  verifyInclusion,
} from './merkle/proofs';
export { type ReadingFault, readingFaults } from './reading/faults';
export { type Issued, type IssuedKind, readIssued } from './reading/read-issued';
export { tbsSha256, transparencyTbs } from './tbs';
export { readDataTile, type TileFault, tilePath, type TilePlace, type TileReading, tileWidth } from './tile';
