import { tileWidth } from '../tile';
import { nodeHash, sha256Length } from './hashes';

/** Leaves of a subtree of the Merkle tree: from `start`, zero-based, to before `end`. */
export interface LeafRange {
  readonly start: number;
  readonly end: number;
}

export interface HashTile {
  readonly level: number;
  readonly index: number;
  readonly width: number;
}

/** Returns the bytes of a fetched tile; undefined when it is missing, or has another length. */
export type ReadHashTile = (tile: HashTile) => Uint8Array | undefined;

/** The subtrees whose hashes are the path of a leaf, in the order of RFC 6962, section 2.1.1. */
export function inclusionRanges(index: number, treeSize: number): LeafRange[] {
  const ranges: LeafRange[] = [];
  let [start, end] = [0, treeSize];
  while (end - start > 1) {
    const middle = start + largestPowerBelow(end - start);
    if (index < middle) {
      ranges.unshift({ start: middle, end });
      end = middle;
    } else {
      ranges.unshift({ start, end: middle });
      start = middle;
    }
  }
  return ranges;
}

/**
 * The subtrees whose hashes prove that the tree of `from` leaves is a prefix of the other (RFC 6962,
 * section 2.1.2).
 */
export function consistencyRanges(from: number, to: number): LeafRange[] {
  const ranges: LeafRange[] = [];
  if (from === 0 || from === to) return ranges;
  let [start, end] = [0, to];
  while (end !== from) {
    const middle = start + largestPowerBelow(end - start);
    if (from <= middle) {
      ranges.unshift({ start: middle, end });
      end = middle;
    } else {
      ranges.unshift({ start, end: middle });
      start = middle;
    }
  }
  return start === 0 ? ranges : [{ start, end }, ...ranges];
}

/** The full subtrees of a compact tree, the largest first. */
export function compactRanges(treeSize: number): LeafRange[] {
  const ranges: LeafRange[] = [];
  for (let start = 0; start < treeSize;) {
    const end = start + largestPowerUpTo(treeSize - start);
    ranges.push({ start, end });
    start = end;
  }
  return ranges;
}

/** The hash tiles of a tree of this size that contain these hashes, without duplicates. */
export function hashTilesOf(ranges: readonly LeafRange[], treeSize: number): HashTile[] {
  const tiles = new Map<string, HashTile>();
  for (const range of ranges) {
    for (const full of fullSubtrees(range)) {
      const { tile } = placeOf(full, treeSize);
      tiles.set(`${tile.level}/${tile.index}`, tile);
    }
  }
  return [...tiles.values()];
}

/**
 * MTH of a range of leaves from these tiles, which do not prove it; null when one is
 * missing.
 */
export function hashOfRange(range: LeafRange, treeSize: number, readTile: ReadHashTile): Buffer | null {
  const hashes: Buffer[] = [];
  for (const full of fullSubtrees(range)) {
    const { tile, offset, count } = placeOf(full, treeSize);
    const bytes = readTile(tile);
    if (bytes?.length !== tile.width * sha256Length) return null;
    hashes.push(foldFull(bytes, offset, count));
  }
  return hashes.length === 0 ? null : hashes.reduceRight((right, left) => nodeHash(left, right));
}

function fullSubtrees({ start, end }: LeafRange): LeafRange[] {
  return compactRanges(end - start).map((range) => ({ start: start + range.start, end: start + range.end }));
}

/** Location of the hash of a full subtree: one hash of a tile, or the root above adjacent ones in it. */
function placeOf({ start, end }: LeafRange, treeSize: number) {
  let level = 0;
  let leavesPerHash = 1;
  while (leavesPerHash * tileWidth <= end - start) {
    level++;
    leavesPerHash *= tileWidth;
  }
  const first = start / leavesPerHash;
  const index = Math.floor(first / tileWidth);
  // static-ct-api, "Partial Tiles": a tile contains only hashes of full subtrees.
  const width = Math.min(tileWidth, Math.floor(treeSize / leavesPerHash) - index * tileWidth);
  return { tile: { level, index, width }, offset: first % tileWidth, count: (end - start) / leavesPerHash };
}

function foldFull(bytes: Uint8Array, offset: number, count: number): Buffer {
  if (count === 1) return Buffer.from(bytes.subarray(offset * sha256Length, (offset + 1) * sha256Length));
  const left = foldFull(bytes, offset, count / 2);
  return nodeHash(left, foldFull(bytes, offset + count / 2, count / 2));
}

function largestPowerUpTo(number: number): number {
  let power = 1;
  while (power * 2 <= number) power *= 2;
  return power;
}

/** The k of RFC 6962, section 2.1: k < n <= 2k. */
function largestPowerBelow(number: number): number {
  return largestPowerUpTo(number - 1);
}
