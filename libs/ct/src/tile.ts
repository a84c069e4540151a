import type { LogEntry } from './entry';
import { sha256Length } from './merkle/hashes';
import { entryOf, readTimestampedEntry } from './timestamped-entry';
import { TlsReader } from './tls-reader';

/** Entries or hashes of a full tile (static-ct-api, "Merkle Tree"). */
export const tileWidth = 256;

/**
 * Why a data tile cannot be read: a TileLeaf is truncated or has no certificate; a type that RFC 6962 does not
 * define; an incomplete digest; its `leaf_index` is missing or does not match its position; more or fewer
 * entries than the tile should have.
 */
export type TileFault = 'leaf' | 'entry_type' | 'chain' | 'leaf_index' | 'width';

export type TileReading =
  | { readonly ok: true; readonly entries: readonly LogEntry[] }
  /** `entry` counts from the start of the tile. */
  | { readonly ok: false; readonly fault: TileFault; readonly entry: number };

/** A tile: its index within its level, and its number of entries or hashes, from 1 to 256. */
export interface TilePlace {
  readonly index: number;
  readonly width: number;
}

/** A data tile: its TileLeafs (static-ct-api, "Log entries"), not compressed. */
export function readDataTile(bytes: Uint8Array, { index, width }: TilePlace): TileReading {
  const reader = new TlsReader(bytes);
  const entries: LogEntry[] = [];
  while (!reader.isAtEnd) {
    const place = entries.length;
    if (place === width) return faulty('width', place);
    const leaf = readTimestampedEntry(reader);
    if (leaf === null && !reader.failed) return faulty('entry_type', place);
    const precertificate = leaf?.issuerKeyHash ? reader.vector(3, 1) : null;
    const fingerprints = reader.vector(2);
    if (leaf === null || reader.failed) return faulty('leaf', place);
    if (fingerprints.length % sha256Length !== 0) return faulty('chain', place);
    if (leaf.leafIndex !== index * tileWidth + place) return faulty('leaf_index', place);
    entries.push(entryOf(leaf, precertificate, { of: 'fingerprints', bytes: fingerprints }));
  }
  return entries.length === width ? { ok: true, entries } : faulty('width', entries.length);
}

function faulty(fault: TileFault, entry: number): TileReading {
  return { ok: false, fault, entry };
}

/**
 * The path of a tile below the monitoring prefix, without a leading slash; a level of hashes, 0 to 5, or
 * the entries.
 */
export function tilePath(level: number | 'data', { index, width }: TilePlace): string {
  const path = `tile/${level}/${tileIndexPath(index)}`;
  return width === tileWidth ? path : `${path}.p/${width}`;
}

/** 1234067 is `x001/x234/067`. */
function tileIndexPath(index: number): string {
  const groups = [threeDigits(index)];
  for (let rest = Math.floor(index / 1000); rest > 0; rest = Math.floor(rest / 1000))
    groups.unshift(`x${threeDigits(rest)}`);
  return groups.join('/');
}

function threeDigits(number: number): string {
  return String(number % 1000).padStart(3, '0');
}
