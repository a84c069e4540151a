import {
  CompactTree,
  emptyRoot,
  type HashTile,
  hashOfRange,
  type LeafRange,
  tileWidth,
} from '@certwright/ct';

const hashBytes = 32;

/** All hashes of the tree that tiles contain: for each level the hashes of its full subtrees, in order. */
export class TileHashes {
  private readonly levels: HashRow[] = [];

  get size(): number {
    return this.levels[0]?.count ?? 0;
  }

  append(leafHash: Buffer): void {
    let hash = leafHash;
    for (let level = 0; ; level++) {
      const row = (this.levels[level] ??= new HashRow());
      row.push(hash);
      if (row.count % tileWidth !== 0) return;
      hash = rootOf(row.slice(row.count - tileWidth, tileWidth));
    }
  }

  /** Undefined when the tree has fewer. */
  tile({ level, index, width }: HashTile): Buffer | undefined {
    const row = this.levels[level];
    const start = index * tileWidth;
    return row === undefined || start + width > row.count ? undefined : row.slice(start, width);
  }

  /** MTH of the first so many leaves (RFC 6962, section 2.1). */
  root(size: number): Buffer {
    return size === 0 ? emptyRoot : this.hashOf({ start: 0, end: size }, size);
  }

  hashesOf(ranges: readonly LeafRange[], treeSize: number): Buffer[] {
    return ranges.map((range) => this.hashOf(range, treeSize));
  }

  private hashOf(range: LeafRange, treeSize: number): Buffer {
    const hash = hashOfRange(range, treeSize, (tile) => this.tile(tile));
    if (hash === null) throw new RangeError(`the tree has no leaves ${range.start} to ${range.end}`);
    return hash;
  }
}

function rootOf(tile: Buffer): Buffer {
  const tree = CompactTree.empty();
  for (let at = 0; at < tile.length; at += hashBytes) tree.append(tile.subarray(at, at + hashBytes));
  return tree.root();
}

/** A growing list of hashes. Slices do not change when more are added. */
class HashRow {
  count = 0;
  private bytes = Buffer.alloc(tileWidth * hashBytes);

  push(hash: Buffer): void {
    const at = this.count * hashBytes;
    if (at === this.bytes.length) this.bytes = Buffer.concat([this.bytes, Buffer.alloc(at)]);
    hash.copy(this.bytes, at);
    this.count++;
  }

  slice(start: number, count: number): Buffer {
    return this.bytes.subarray(start * hashBytes, (start + count) * hashBytes);
  }
}
