import { readDataTile, tileWidth } from '@certwright/ct';
import { Pieces } from '@certwright/outbound';
import { fetchedEntry, hugeEntry, keptOfOdd, longestIndexed, merkleTreeLeafHead } from './fetched-entry';
import type { FetchedEntry } from './log-api';
import { LogUnavailable } from './log-faults';
import { HashedOctets, KeptOctets } from './long-text';
import { EnoughEntries, EntryIsLong, HeldEntries, type StreamedBounds } from './streamed-entries';

export interface TileLeavesOptions extends StreamedBounds {
  /** Index in the log of the tile's first entry. */
  readonly first: number;
  /** Entries that the tile has. */
  readonly width: number;
  /** The first index that is wanted. */
  readonly from: number;
}

/** Timestamp and type; the hash of a precertificate's issuer's key; bytes (RFC 6962, section 3.4). */
const [headBytes, keyHashBytes] = [10, 32];

/** RFC 6962, section 2.1: before a leaf when it is hashed; and what a leaf has before what a tile has of it. */
const beforeLeaf = Buffer.concat([Buffer.from([0]), merkleTreeLeafHead]);

/**
 * The entries of a data tile (static-ct-api, "Log entries") as its bytes come. One entry at a time is in memory, besides those that
 * are held; of one that is not indexed for its length only the hash and the beginning are.
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

  /** Of memory, that the entries take. */
  get bytes(): number {
    return this.held.bytes;
  }

  /** @throws EnoughEntries; EntryIsLong; LogUnavailable for what is no tile */
  take(piece: Buffer): void {
    this.pieces.push(piece);
    if (this.pieces.length < this.wanted && this.huge === null) return;
    const bytes = this.pieces.take();
    let at = 0;
    while (at < bytes.length) {
      if (this.huge === null) {
        const { whole, isLong, octets } = this.leafLength(bytes, at);
        if (whole) this.leaf(bytes.subarray(at, at + octets));
        else if (isLong) this.huge = new HugeLeaf();
        else this.wanted = octets;
        if (!whole && !isLong) break;
        if (whole) at += octets;
      } else {
        at = this.huge.take(bytes, at);
        if (this.huge.isWhole) {
          const { entry } = this.huge;
          this.huge = null;
          this.add(entry);
        }
      }
    }
    // A copy: what was read is not held for what is left over.
    if (at === bytes.length) this.wanted = 1;
    else this.pieces.push(at === 0 ? bytes : Buffer.from(bytes.subarray(at)));
  }

  private leaf(leaf: Buffer): void {
    if (this.next >= this.options.first + this.options.width) throw new EnoughEntries();
    this.add(this.next < this.options.from ? null : tileEntry(leaf, this.next));
  }

  /** @param entry null: it is not wanted */
  private add(entry: FetchedEntry | null): void {
    const { first, width, from, maxHeld } = this.options;
    const index = this.next++;
    if (index >= first + width) throw new EnoughEntries();
    if (entry === null || index < from) return;
    this.held.add(entry, first + width - Math.max(first, from), maxHeld);
  }

  /** How long the TileLeaf is that begins here; as long as it is not whole, how many octets are needed to know more. */
  private leafLength(bytes: Buffer, at: number) {
    const has = bytes.length - at;
    const needs = (octets: number, isLong = false) => ({ whole: false, isLong, octets });
    let octets = headBytes;
    if (has < octets) return needs(octets);
    const type = typeAt(bytes, at);
    if (type === 1) octets += keyHashBytes;
    for (const lengthOctets of type === 1 ? [3, 2, 3, 2] : [3, 2, 2]) {
      octets += lengthOctets;
      if (has < octets) return needs(octets);
      const length = bytes.readUIntBE(at + octets - lengthOctets, lengthOctets);
      octets += length;
      if (octets > this.options.maxEntry) throw new EntryIsLong();
      if (length > longestIndexed) return needs(octets, true);
      if (has < octets) return needs(octets);
    }
    return { whole: true, isLong: false, octets };
  }
}

function typeAt(bytes: Buffer, at: number): number {
  const type = bytes.readUInt16BE(at + 8);
  if (type > 1) throw new LogUnavailable('A data tile has an entry of a type that is not known.');
  return type;
}

function tileEntry(leaf: Buffer, index: number): FetchedEntry {
  // A tile of this one entry: `leaf_index` is checked against the place of the tile and the place in it.
  const reading = readDataTile(Buffer.from(leaf), { index: index / tileWidth, width: 1 });
  const entry = reading.ok ? reading.entries[0] : undefined;
  if (entry === undefined)
    throw new LogUnavailable(`Entry ${index} of the log is not in the form of a tile's.`);
  return fetchedEntry(entry);
}

/** A TileLeaf that is not indexed. What it is hashed from comes first: head, certificate and extensions. */
class HugeLeaf {
  private readonly kept = new KeptOctets(0, Infinity, keptOfOdd);
  private readonly hash = new HashedOctets(beforeLeaf, this.kept);
  /** Octets that are still to come of the vector or head that is being read. */
  private left = 0;
  private length = { value: 0, octets: 0 };
  /** Octets of the lengths of the vectors that follow; null: the type is not known yet. */
  private vectors: number[] | null = null;
  private hashed = 2;
  private isHashed = true;

  get isWhole(): boolean {
    return this.left === 0 && this.length.octets === 0 && this.vectors?.length === 0;
  }

  get entry(): FetchedEntry {
    const leaf = Buffer.concat([merkleTreeLeafHead, this.kept.octets]);
    return hugeEntry(this.hash.digest(), leaf, merkleTreeLeafHead.length + this.kept.length);
  }

  /** @returns behind what is this entry's */
  take(bytes: Buffer, start: number): number {
    let at = start;
    while (at < bytes.length && !this.isWhole) {
      if (this.vectors === null) at = this.head(bytes, at);
      else if (this.left > 0) {
        const end = Math.min(bytes.length, at + this.left);
        this.left -= end - at;
        at = this.passed(bytes, at, end);
      } else at = this.lengthOctet(bytes, at);
      if (this.vectors !== null && this.left === 0 && this.length.octets === 0) this.nextVector();
    }
    return at;
  }

  /** It begins in what is there of it, which has at least its head. */
  private head(bytes: Buffer, at: number): number {
    const type = typeAt(bytes, at);
    this.vectors = type === 1 ? [3, 2, 3, 2] : [3, 2, 2];
    this.left = 0;
    return this.passed(bytes, at, at + headBytes + (type === 1 ? keyHashBytes : 0));
  }

  private nextVector(): void {
    const octets = this.vectors?.shift();
    if (octets === undefined) return;
    this.isHashed = this.hashed-- > 0;
    this.length = { value: 0, octets };
  }

  private lengthOctet(bytes: Buffer, at: number): number {
    const { value, octets } = this.length;
    this.length = { value: value * 256 + (bytes[at] ?? 0), octets: octets - 1 };
    if (octets === 1) this.left = this.length.value;
    return this.passed(bytes, at, at + 1);
  }

  private passed(bytes: Buffer, start: number, end: number): number {
    if (this.isHashed) this.hash.take(bytes.subarray(start, end));
    return end;
  }
}
