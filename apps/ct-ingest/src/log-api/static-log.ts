import {
  CompactTree,
  compactRanges,
  consistencyRanges,
  type HashTile,
  hashOfRange,
  hashTilesOf,
  type LeafRange,
  type LogKey,
  readCheckpoint,
  tilePath,
  type TilePlace,
  tileWidth,
} from '@certwright/ct';
import type { LogMemory } from '../memory/log-memory';
import type { EntryPage, EntryRange, LogApi, VerifiedHead } from './log-api';
import { ResponseTooLong, LogUnavailable } from './log-faults';
import type { LogRequests } from './log-requests';
import { EnoughEntries, EntryIsLong, type StreamedBounds } from './streamed-entries';
import { TileLeaves } from './tile-leaves';

/** Bytes: a note may have signatures of many witnesses; a CA certificate has one or two kB. */
const maxCheckpoint = 65_536;
const maxIssuer = 262_144;
const hashBytes = 32;

/** Max bytes of entries that are kept of a tile with a long one: those before it are downloaded again for those after it. */
const maxHeldOfLong = 262_144;

/** Max size of a tile of 256 entries. It is read in chunks. */
const maxTile = 2 ** 33;

export interface StaticLogOptions {
  /** Ends in a slash. */
  readonly url: string;
  /** First line of the log's checkpoints. */
  readonly origin: string;
  readonly key: LogKey;
  readonly requests: LogRequests;
  readonly memory: LogMemory;
}

/** A log with the monitoring interface of static-ct-api. */
export class StaticLog implements LogApi {
  /** Hash tiles of the proofs for one head: most proofs share them. They are discarded with the head. */
  private readonly tilesOf = new WeakMap<VerifiedHead, Map<string, Buffer>>();

  constructor(private readonly options: StaticLogOptions) {}

  async head(signal: AbortSignal): Promise<VerifiedHead> {
    const { origin, key, requests } = this.options;
    const request = { url: this.urlOf('checkpoint'), maxBytes: maxCheckpoint };
    const signed = await requests.getSome(request, signal);
    const reading = readCheckpoint(signed, origin, key);
    if (reading.ok) return { ...reading.head, signed };
    // A page of an intermediary, truncated or garbled data, or another log's: not signed by the log.
    throw new LogUnavailable(`The log returned no checkpoint that it has signed (${reading.fault}).`);
  }

  async consistencyProof(from: number, head: VerifiedHead, signal: AbortSignal): Promise<readonly Buffer[]> {
    return await this.hashes(consistencyRanges(from, head.treeSize), head, signal);
  }

  async treeOf(size: number, head: VerifiedHead, signal: AbortSignal): Promise<CompactTree> {
    const subtrees = await this.hashes(compactRanges(size), head, signal);
    return CompactTree.of(size, subtrees) ?? CompactTree.empty();
  }

  async timestampAt(index: number, head: VerifiedHead, signal: AbortSignal): Promise<number> {
    const range = { from: index, to: index + 1 };
    const page =
      (await this.fetch(range, head.treeSize, signal)) ??
      (await this.fetchLong(range, head.treeSize, signal));
    page.release();
    const [entry] = page.entries;
    return entry?.kind === 'read' ? entry.entry.timestamp : 0;
  }

  /** static-ct-api, "Issuers". */
  async issuer(fingerprint: Buffer, signal: AbortSignal): Promise<Buffer | null> {
    const url = this.urlOf(`issuer/${fingerprint.toString('hex')}`);
    try {
      return await this.options.requests.get({ url, maxBytes: maxIssuer }, signal);
    } catch (error) {
      if (error instanceof ResponseTooLong) return null;
      throw error;
    }
  }

  rangeEnd(from: number, to: number): number {
    return Math.min(to, (Math.floor(from / tileWidth) + 1) * tileWidth);
  }

  async fetch(range: EntryRange, treeSize: number, signal: AbortSignal): Promise<EntryPage | null> {
    const { maxPage, whilePageIsRead, maxPageEntry } = this.options.memory.shares;
    const bounds = { maxHeld: maxPage, maxEntry: maxPageEntry };
    return await this.entries(range, treeSize, bounds, whilePageIsRead, signal);
  }

  async fetchLong(range: EntryRange, treeSize: number, signal: AbortSignal): Promise<EntryPage> {
    const { whileEntryIsRead } = this.options.memory.shares;
    const bounds = { maxHeld: maxHeldOfLong, maxEntry: Infinity };
    const page = await this.entries(range, treeSize, bounds, whileEntryIsRead, signal);
    if (page === null) throw new LogUnavailable(`Entry ${range.from} cannot be read.`);
    return page;
  }

  /** Null: the first entry exceeds the limits. */
  private async entries(
    range: EntryRange,
    treeSize: number,
    bounds: StreamedBounds,
    reserved: number,
    signal: AbortSignal,
  ): Promise<EntryPage | null> {
    const memory = await this.options.memory.budget.reserve(reserved, signal);
    const place = placeOf(range, treeSize);
    const first = place.index * tileWidth;
    const leaves = new TileLeaves({
      ...{ ...bounds, first, from: range.from },
      width: Math.min(place.width, range.to - first),
    });
    try {
      let isLong = false;
      try {
        await this.dataTile(place, (piece) => leaves.take(piece), signal);
      } catch (error) {
        isLong = error instanceof EntryIsLong;
        if (!(error instanceof EnoughEntries || isLong)) throw error;
      }
      const { entries } = leaves;
      if (entries.length === 0 && !isLong)
        throw new LogUnavailable(`Data tile ${place.index} ends before its entries.`);
      memory.shrinkTo(leaves.bytes);
      if (entries.length > 0) return { from: range.from, entries, release: () => memory.release() };
      memory.release();
      return null;
    } catch (error) {
      memory.release();
      if (error instanceof ResponseTooLong)
        throw new LogUnavailable(`Data tile ${place.index} exceeds the maximum length.`);
      throw error;
    }
  }

  /** A log may delete a partial tile once the full one exists (static-ct-api, "Partial Tiles"), whose prefix it is. */
  private async dataTile(
    { index, width }: TilePlace,
    take: (piece: Buffer) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { requests } = this.options;
    for (const each of new Set([width, tileWidth])) {
      const url = this.urlOf(tilePath('data', { index, width: each }));
      if (await requests.stream({ url, maxBytes: maxTile }, take, signal)) return;
    }
    throw new LogUnavailable(`The log has no data tile ${index}.`);
  }

  private async hashes(
    ranges: readonly LeafRange[],
    head: VerifiedHead,
    signal: AbortSignal,
  ): Promise<Buffer[]> {
    const { treeSize } = head;
    const kept = this.tilesOf.get(head) ?? new Map<string, Buffer>();
    this.tilesOf.set(head, kept);
    const tiles = new Map<string, Buffer>();
    for (const tile of hashTilesOf(ranges, treeSize)) {
      const name = `${tile.level}/${tile.index}`;
      const bytes = kept.get(name) ?? (await this.hashTile(tile, signal));
      tiles.set(name, bytes);
      keep(kept, name, bytes);
    }
    return ranges.map((range) => {
      const hash = hashOfRange(range, treeSize, ({ level, index }) => tiles.get(`${level}/${index}`));
      if (hash === null) throw new LogUnavailable('A hash tile of the log has the wrong length.');
      return hash;
    });
  }

  private async hashTile({ level, index, width }: HashTile, signal: AbortSignal): Promise<Buffer> {
    const { requests } = this.options;
    const request = (of: number) => ({
      url: this.urlOf(tilePath(level, { index, width: of })),
      maxBytes: tileWidth * hashBytes,
    });
    try {
      const tile =
        (await requests.get(request(width), signal)) ?? (await requests.getSome(request(tileWidth), signal));
      return tile.subarray(0, width * hashBytes);
    } catch (error) {
      if (error instanceof ResponseTooLong) throw new LogUnavailable('A hash tile of the log is too long.');
      throw error;
    }
  }

  private urlOf(path: string): string {
    return new URL(path, this.options.url).href;
  }
}

/** Max tiles of 8 kB that are cached for a head: its right edge has one per level, and each proof adds one or two. */
const maxKeptTiles = 16;

/** Evicts the least recently used tile. */
function keep(kept: Map<string, Buffer>, name: string, bytes: Buffer): void {
  kept.delete(name);
  kept.set(name, bytes);
  for (const oldest of kept.keys()) {
    if (kept.size <= maxKeptTiles) break;
    kept.delete(oldest);
  }
}

/** The tile that contains a range, and its width in the tree: no more of it is requested. */
function placeOf({ from }: EntryRange, treeSize: number): TilePlace {
  const index = Math.floor(from / tileWidth);
  return { index, width: Math.min(tileWidth, treeSize - index * tileWidth) };
}
