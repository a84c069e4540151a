import { readDataTile, tileWidth } from '@certwright/ct';
import { fetchedEntry, longestIndexed } from './fetched-entry';
import type { FetchedEntry } from './log-api';
import { LogUnavailable } from './log-faults';

/** Thrown into the request that brings a tile: enough of it is held. */
export class EnoughOfTile extends Error {}

/** Octets of a TileLeaf around what is indexed: digests of its chain, timestamp, type, extensions and lengths. */
const mostAround = 0x2_0100;

export interface TileLeavesOptions {
  /** Index in the log of the tile's first entry. */
  readonly first: number;
  /** Entries that the tile has. */
  readonly width: number;
  /** The first index that is wanted. */
  readonly from: number;
  /** Octets of entries that are held. */
  readonly mostHeld: number;
}

/**
 * The entries of a data tile (static-ct-api, "Log entries") as its octets come. One entry at a time is in memory, besides those that
 * are kept; of one that is huge only its hash and beginning are.
 */
export class TileLeaves {
  readonly entries: FetchedEntry[] = [];
  private pieces: Buffer[] = [];
  private octets = 0;
  private wanted = 1;
  private next: number;
  private held = 0;

  constructor(private readonly options: TileLeavesOptions) {
    this.next = options.first;
  }

  /** @throws EnoughOfTile; LogUnavailable for what is no tile */
  take(piece: Buffer): void {
    this.pieces.push(piece);
    this.octets += piece.length;
    if (this.octets < this.wanted) return;
    const bytes = this.pieces.length === 1 ? piece : Buffer.concat(this.pieces);
    let at = 0;
    for (;;) {
      const { whole, octets } = leafLength(bytes, at);
      if (!whole) {
        this.wanted = octets;
        break;
      }
      this.leaf(bytes.subarray(at, at + octets));
      at += octets;
    }
    // A copy: what was read is not held for what is left over.
    this.pieces = [at === 0 ? bytes : Buffer.from(bytes.subarray(at))];
    this.octets = bytes.length - at;
  }

  private leaf(leaf: Buffer): void {
    const { first, width, from, mostHeld } = this.options;
    const index = this.next++;
    if (index >= first + width) throw new EnoughOfTile();
    if (index < from) return;
    const entry = tileEntry(leaf, index);
    this.entries.push(entry);
    this.held += entry.kind === 'read' ? leaf.length : entry.leaf.length;
    if (this.held >= mostHeld || this.next === first + width) throw new EnoughOfTile();
  }
}

function tileEntry(leaf: Buffer, index: number): FetchedEntry {
  const bytes = leaf.length <= longestIndexed + mostAround ? Buffer.from(leaf) : leaf;
  // A tile of this one entry: `leaf_index` is checked against the place of the tile and the place in it.
  const reading = readDataTile(bytes, { index: index / tileWidth, width: 1 });
  const entry = reading.ok ? reading.entries[0] : undefined;
  if (entry === undefined)
    throw new LogUnavailable(`Entry ${index} of the log is not in the form of a tile's.`);
  return fetchedEntry(entry);
}

/** How long the TileLeaf is that begins here; as long as it is not whole, how many octets are needed to know more. */
function leafLength(bytes: Buffer, at: number): { readonly whole: boolean; readonly octets: number } {
  const has = bytes.length - at;
  let octets = 10;
  if (has < octets) return { whole: false, octets };
  const type = bytes.readUInt16BE(at + 8);
  if (type > 1) throw new LogUnavailable('A data tile has an entry of a type that is not known.');
  if (type === 1) octets += 32;
  for (const lengthOctets of type === 1 ? [3, 2, 3, 2] : [3, 2, 2]) {
    octets += lengthOctets;
    if (has < octets) return { whole: false, octets };
    octets += bytes.readUIntBE(at + octets - lengthOctets, lengthOctets);
    if (has < octets) return { whole: false, octets };
  }
  return { whole: true, octets };
}
