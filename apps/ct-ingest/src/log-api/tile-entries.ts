import { readDataTile, type TilePlace, tileWidth } from '@certwright/ct';
import { fetchedEntry } from './fetched-entry';
import type { FetchedEntry } from './log-api';
import { LogUnavailable } from './log-faults';

/** The entries [from, to) of the log, of a data tile that has them. @throws LogUnavailable when it is no such tile */
export function readTileEntries(
  bytes: Uint8Array,
  place: TilePlace,
  { from, to }: { readonly from: number; readonly to: number },
): FetchedEntry[] {
  const first = place.index * tileWidth;
  const reading = readDataTile(bytes, place);
  if (!reading.ok)
    throw new LogUnavailable(`Entry ${first + reading.entry} cannot be read in its tile (${reading.fault}).`);
  return reading.entries.slice(from - first, to - first).map(fetchedEntry);
}
