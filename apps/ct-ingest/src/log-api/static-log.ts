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
import type { MemoryBudget } from '../memory/memory-budget';
import type { MemoryShares } from '../memory/memory-shares';
import type { EntryPage, EntryRange, LogApi, VerifiedHead } from './log-api';
import { LogUnavailable } from './log-faults';
import { AnswerTooLong, type LogRequests } from './log-requests';
import { readTileEntries } from './tile-entries';
import { EnoughOfTile, TileLeaves } from './tile-leaves';

/** Octets: a note may have signatures of many witnesses; a CA certificate has one or two kB. */
const longestCheckpoint = 65_536;
const longestIssuer = 262_144;
const hashOctets = 32;

/** Whatever a tile of 256 entries can have. It is read piece by piece. */
const longestTile = 2 ** 33;
const longPatience = 10;

export interface StaticLogOptions {
  /** Ends in a slash. */
  readonly url: string;
  /** First line of its checkpoints. */
  readonly origin: string;
  readonly key: LogKey;
  readonly requests: LogRequests;
  readonly memory: MemoryBudget;
  readonly shares: MemoryShares;
}

/** A log with the monitoring interface of static-ct-api. */
export class StaticLog implements LogApi {
  /** Hash tiles that proofs for one head have been made of: most proofs need the same ones. They go with the head. */
  private readonly tilesOf = new WeakMap<VerifiedHead, Map<string, Buffer>>();

  constructor(private readonly options: StaticLogOptions) {}

  async head(signal: AbortSignal): Promise<VerifiedHead> {
    const { origin, key, requests } = this.options;
    const asking = { url: this.urlOf('checkpoint'), mostOctets: longestCheckpoint };
    const signed = await requests.getSome(asking, signal);
    const reading = readCheckpoint(signed, origin, key);
    if (reading.ok) return { ...reading.head, signed };
    // A page of somebody in between, something cut off or garbled, or another log's: nothing that the log has signed.
    throw new LogUnavailable(`The log answered without a checkpoint that it has signed (${reading.fault}).`);
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
      return await this.options.requests.get({ url, mostOctets: longestIssuer }, signal);
    } catch (error) {
      if (error instanceof AnswerTooLong) return null;
      throw error;
    }
  }

  rangeEnd(from: number, to: number): number {
    return Math.min(to, (Math.floor(from / tileWidth) + 1) * tileWidth);
  }

  async fetch(range: EntryRange, treeSize: number, signal: AbortSignal): Promise<EntryPage | null> {
    const { shares, memory: budget } = this.options;
    const memory = await budget.reserve(shares.whilePageIsRead, signal);
    try {
      const place = placeOf(range, treeSize);
      const { bytes, width } = await this.dataTile(place, signal);
      memory.shrinkTo(bytes.length);
      const entries = readTileEntries(bytes, { index: place.index, width }, range);
      return { from: range.from, entries, release: () => memory.release() };
    } catch (error) {
      memory.release();
      if (error instanceof AnswerTooLong) return null;
      throw error;
    }
  }

  async fetchLong(range: EntryRange, treeSize: number, signal: AbortSignal): Promise<EntryPage> {
    const { shares, memory: budget, requests } = this.options;
    const memory = await budget.reserve(shares.whileTileIsTaken, signal);
    const { index, width } = placeOf(range, treeSize);
    const leaves = new TileLeaves({
      first: index * tileWidth,
      width: Math.min(width, range.to - index * tileWidth),
      from: range.from,
      mostHeld: shares.keptOfTile,
    });
    const ask = (of: number) => ({
      url: this.urlOf(tilePath('data', { index, width: of })),
      mostOctets: longestTile,
      patience: longPatience,
      onBody: (piece: Buffer) => leaves.take(piece),
    });
    try {
      try {
        if ((await requests.get(ask(width), signal)) === null) await requests.getSome(ask(tileWidth), signal);
      } catch (error) {
        if (!(error instanceof EnoughOfTile)) throw error;
      }
      if (leaves.entries.length === 0)
        throw new LogUnavailable(`Data tile ${index} ends before its entries.`);
      memory.shrinkTo(shares.keptOfTile * 2);
      return { from: range.from, entries: leaves.entries, release: () => memory.release() };
    } catch (error) {
      memory.release();
      if (error instanceof AnswerTooLong) throw new LogUnavailable(`Data tile ${index} is endless.`);
      throw error;
    }
  }

  /** A log may delete a partial tile once there is the full one (static-ct-api, "Partial Tiles"), which begins with it. */
  private async dataTile(
    { index, width }: TilePlace,
    signal: AbortSignal,
  ): Promise<{ readonly bytes: Buffer; readonly width: number }> {
    const { requests, shares } = this.options;
    const ask = (of: number) => ({
      url: this.urlOf(tilePath('data', { index, width: of })),
      mostOctets: shares.page,
    });
    const tile = await requests.get(ask(width), signal);
    if (tile !== null) return { bytes: tile, width };
    return { bytes: await requests.getSome(ask(tileWidth), signal), width: tileWidth };
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
      if (hash === null) throw new LogUnavailable('A hash tile of the log has another length than it says.');
      return hash;
    });
  }

  private async hashTile({ level, index, width }: HashTile, signal: AbortSignal): Promise<Buffer> {
    const { requests } = this.options;
    const ask = (of: number) => ({
      url: this.urlOf(tilePath(level, { index, width: of })),
      mostOctets: tileWidth * hashOctets,
    });
    try {
      const tile =
        (await requests.get(ask(width), signal)) ?? (await requests.getSome(ask(tileWidth), signal));
      return tile.subarray(0, width * hashOctets);
    } catch (error) {
      if (error instanceof AnswerTooLong) throw new LogUnavailable('A hash tile of the log is too long.');
      throw error;
    }
  }

  private urlOf(path: string): string {
    return new URL(path, this.options.url).href;
  }
}

/** Tiles of 8 kB that are kept for a head: its right edge has one for each level, and each proof adds one or two. */
const maxKeptTiles = 16;

/** The one that was used longest ago gives way. */
function keep(kept: Map<string, Buffer>, name: string, bytes: Buffer): void {
  kept.delete(name);
  kept.set(name, bytes);
  for (const oldest of kept.keys()) {
    if (kept.size <= maxKeptTiles) break;
    kept.delete(oldest);
  }
}

/** The tile that a range lies in, and how much of it the tree has: no more of it is asked for. */
function placeOf({ from }: EntryRange, treeSize: number): TilePlace {
  const index = Math.floor(from / tileWidth);
  return { index, width: Math.min(tileWidth, treeSize - index * tileWidth) };
}
