import { entryLeafHash, leafHash, type LogEntry } from '@certwright/ct';
import type { FetchedEntry } from './log-api';

/** Bytes. A longer certificate is not a server's: its entry is counted and partly stored, and not indexed. */
export const maxIndexed = 1_048_576;

/** Bytes that are stored of an entry that is not indexed. */
export const keptOfOdd = 65_536;

/** MerkleTreeLeaf: version v1, type timestamped_entry (RFC 6962, section 3.4). */
export const merkleTreeLeafHead = Buffer.from([0, 0]);

export function fetchedEntry(entry: LogEntry): FetchedEntry {
  const { timestampedEntry } = entry;
  const submitted = entry.type === 'precertificate' ? entry.precertificateDer.length : 0;
  if (timestampedEntry.length + submitted <= maxIndexed)
    return { kind: 'read', leafHash: entryLeafHash(entry), entry };
  const leaf = Buffer.concat([merkleTreeLeafHead, timestampedEntry.subarray(0, keptOfOdd)]);
  return hugeEntry(entryLeafHash(entry), leaf, timestampedEntry.length + merkleTreeLeafHead.length);
}

/** @param leaf its prefix @param leafBytes length of the whole leaf */
export function hugeEntry(leafHash: Buffer, leaf: Buffer, leafBytes: number): FetchedEntry {
  return { kind: 'odd', leafHash, fault: 'huge', leaf: Buffer.from(leaf.subarray(0, keptOfOdd)), leafBytes };
}

/** @param leaf MerkleTreeLeaf, of which no reference is kept */
export function oddEntry(leaf: Buffer, fault: string): FetchedEntry {
  const kept = Buffer.from(leaf.subarray(0, keptOfOdd));
  return { kind: 'odd', leafHash: leafHash(leaf), fault, leaf: kept, leafBytes: leaf.length };
}
