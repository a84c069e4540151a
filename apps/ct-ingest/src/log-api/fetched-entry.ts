import { entryLeafHash, leafHash, type LogEntry } from '@certwright/ct';
import type { FetchedEntry } from './log-api';

/** Octets. A certificate that is longer is no server's: its entry is counted and kept in part, and not indexed. */
export const longestIndexed = 1_048_576;

/** Octets that are kept of an entry that is not indexed. */
const keptOfOdd = 65_536;

/** MerkleTreeLeaf: version v1, type timestamped_entry (RFC 6962, section 3.4). */
const merkleTreeLeafHead = Buffer.from([0, 0]);

export function fetchedEntry(entry: LogEntry): FetchedEntry {
  const { timestampedEntry } = entry;
  const submitted = entry.type === 'precertificate' ? entry.precertificateDer.length : 0;
  if (timestampedEntry.length + submitted <= longestIndexed)
    return { kind: 'read', leafHash: entryLeafHash(entry), entry };
  return {
    kind: 'odd',
    leafHash: entryLeafHash(entry),
    fault: 'huge',
    leaf: Buffer.concat([merkleTreeLeafHead, timestampedEntry.subarray(0, keptOfOdd)]),
    leafBytes: timestampedEntry.length + merkleTreeLeafHead.length,
  };
}

/** @param leaf MerkleTreeLeaf, which is not held */
export function oddEntry(leaf: Buffer, fault: string): FetchedEntry {
  const kept = Buffer.from(leaf.subarray(0, keptOfOdd));
  return { kind: 'odd', leafHash: leafHash(leaf), fault, leaf: kept, leafBytes: leaf.length };
}
