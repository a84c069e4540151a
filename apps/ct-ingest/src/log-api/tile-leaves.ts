import { readDataTile, tileWidth } from '@certwright/ct';
import { Pieces } from '@certwright/outbound';
import { fetchedEntry, hugeEntry, keptOfOdd, maxIndexed, merkleTreeLeafHead } from './fetched-entry';
import type { FetchedEntry } from './log-api';
import { LogUnavailable } from './log-faults';
import { HashedBytes, KeptBytes } from './long-text';
import { EnoughEntries, EntryIsLong, HeldEntries, type StreamedBounds } from './streamed-entries';

export interface TileLeavesOptions extends StreamedBounds {
  /** Log index of the tile's first entry. */
  readonly first: number;
  /** Number of entries in the tile. */
  readonly width: number;
  /** The first requested index. */
  readonly from: number;
}

/** Timestamp and type; issuer key hash of a precertificate; bytes (RFC 6962, section 3.4). */
const [headBytes, keyHashBytes] = [10, 32];

/** RFC 6962, section 2.1: prefix of a leaf in its hash; and the fields of a leaf that precede those in a tile. */
const beforeLeaf = Buffer.concat([Buffer.from([0]), merkleTreeLeafHead]);

/**
 * The entries of a data tile (static-ct-api, "Log entries") as its bytes arrive. Besides the collected entries, one entry is in
 * memory; of an entry that is too long to be indexed, only the hash and the prefix.
 */
export class TileLeaves {
  private readonly held = new HeldEntries();
  private readonly pieces = new Pieces();
  private wanted = 1;
  private next: number;
  private huge: HugeLeaf | null = null;

  constructor(private readonly options: TileLeavesOptions) {
    this.next = options.first;
  }

  get entries(): readonly FetchedEntry[] {
    return this.held.entries;
  }

  /** Bytes of memory of the entries. */
  get bytes(): number {
    return this.held.bytes;
  }

  /** @throws EnoughEntries; EntryIsLong; LogUnavailable for an invalid tile */
  take(piece: Buffer): void {
    this.pieces.push(piece);
    if (this.pieces.length < this.wanted && this.huge === null) return;
    const bytes = this.pieces.take();
    let at = 0;
    while (at < bytes.length) {
      if (this.huge === null) {
        const { whole, isLong, size } = this.leafLength(bytes, at);
        if (whole) this.leaf(bytes.subarray(at, at + size));
        else if (isLong) this.huge = new HugeLeaf();
        else this.wanted = size;
        if (!whole && !isLong) break;
        if (whole) at += size;
      } else {
        at = this.huge.take(bytes, at);
        if (this.huge.isWhole) {
          const { entry } = this.huge;
          this.huge = null;
          this.add(entry);
        }
      }
    }
    // A copy, so that the rest does not keep the whole chunk in memory.
    if (at === bytes.length) this.wanted = 1;
    else this.pieces.push(at === 0 ? bytes : Buffer.from(bytes.subarray(at)));
  }

  private leaf(leaf: Buffer): void {
    if (this.next >= this.options.first + this.options.width) throw new EnoughEntries();
    this.add(this.next < this.options.from ? null : tileEntry(leaf, this.next));
  }

  /** @param entry null: it was not requested */
  private add(entry: FetchedEntry | null): void {
    const { first, width, from, maxHeld } = this.options;
    const index = this.next++;
    if (index >= first + width) throw new EnoughEntries();
    if (entry === null || index < from) return;
    this.held.add(entry, first + width - Math.max(first, from), maxHeld);
  }

  /** Length of the TileLeaf at this position; while it is incomplete, the number of bytes needed to determine more. */
  private leafLength(bytes: Buffer, at: number) {
    const has = bytes.length - at;
    const needs = (size: number, isLong = false) => ({ whole: false, isLong, size });
    let size = headBytes;
    if (has < size) return needs(size);
    const type = typeAt(bytes, at);
    if (type === 1) size += keyHashBytes;
    for (const lengthBytes of type === 1 ? [3, 2, 3, 2] : [3, 2, 2]) {
      size += lengthBytes;
      if (has < size) return needs(size);
      const length = bytes.readUIntBE(at + size - lengthBytes, lengthBytes);
      size += length;
      if (size > this.options.maxEntry) throw new EntryIsLong();
      if (length > maxIndexed) return needs(size, true);
      if (has < size) return needs(size);
    }
    return { whole: true, isLong: false, size };
  }
}

function typeAt(bytes: Buffer, at: number): number {
  const type = bytes.readUInt16BE(at + 8);
  if (type > 1) throw new LogUnavailable('A data tile has an entry of an unknown type.');
  return type;
}

function tileEntry(leaf: Buffer, index: number): FetchedEntry {
  // A tile of only this entry: `leaf_index` is checked against the tile's position and the position in it.
  const reading = readDataTile(Buffer.from(leaf), { index: index / tileWidth, width: 1 });
  const entry = reading.ok ? reading.entries[0] : undefined;
  if (entry === undefined) throw new LogUnavailable(`Entry ${index} of the log is not a valid TileLeaf.`);
  return fetchedEntry(entry);
}

/** A TileLeaf that is not indexed. The hashed fields come first: head, certificate and extensions. */
class HugeLeaf {
  private readonly kept = new KeptBytes(0, Infinity, keptOfOdd);
  private readonly hash = new HashedBytes(beforeLeaf, this.kept);
  /** Remaining bytes of the current vector or head. */
  private left = 0;
  private length = { value: 0, bytesLeft: 0 };
  /** Bytes of the lengths of the following vectors; null: the type is not known yet. */
  private vectors: number[] | null = null;
  private hashed = 2;
  private isHashed = true;

  get isWhole(): boolean {
    return this.left === 0 && this.length.bytesLeft === 0 && this.vectors?.length === 0;
  }

  get entry(): FetchedEntry {
    const leaf = Buffer.concat([merkleTreeLeafHead, this.kept.bytes]);
    return hugeEntry(this.hash.digest(), leaf, merkleTreeLeafHead.length + this.kept.length);
  }

  /** @returns position after this entry */
  take(bytes: Buffer, start: number): number {
    let at = start;
    while (at < bytes.length && !this.isWhole) {
      if (this.vectors === null) at = this.head(bytes, at);
      else if (this.left > 0) {
        const end = Math.min(bytes.length, at + this.left);
        this.left -= end - at;
        at = this.passed(bytes, at, end);
      } else at = this.lengthByte(bytes, at);
      if (this.vectors !== null && this.left === 0 && this.length.bytesLeft === 0) this.nextVector();
    }
    return at;
  }

  /** Starts with the available bytes, which include at least the head. */
  private head(bytes: Buffer, at: number): number {
    const type = typeAt(bytes, at);
    this.vectors = type === 1 ? [3, 2, 3, 2] : [3, 2, 2];
    this.left = 0;
    return this.passed(bytes, at, at + headBytes + (type === 1 ? keyHashBytes : 0));
  }

  private nextVector(): void {
    const bytesLeft = this.vectors?.shift();
    if (bytesLeft === undefined) return;
    this.isHashed = this.hashed-- > 0;
    this.length = { value: 0, bytesLeft };
  }

  private lengthByte(bytes: Buffer, at: number): number {
    const { value, bytesLeft } = this.length;
    this.length = { value: value * 256 + (bytes[at] ?? 0), bytesLeft: bytesLeft - 1 };
    if (bytesLeft === 1) this.left = this.length.value;
    return this.passed(bytes, at, at + 1);
  }

  private passed(bytes: Buffer, start: number, end: number): number {
    if (this.isHashed) this.hash.take(bytes.subarray(start, end));
    return end;
  }
}
