import {
  type CompactTree,
  type KnownChains,
  leafHash,
  type LogKey,
  nodeHash,
  readSignedTreeHead,
  treeUpTo,
} from '@certwright/ct';
import type { LogMemory } from '../memory/log-memory';
import { JsonEntries, membersOf, parseJson } from './json-entries';
import type { EntryPage, EntryRange, LogApi, VerifiedHead } from './log-api';
import { LogUnavailable } from './log-faults';
import type { LogRequests } from './log-requests';
import { EnoughEntries, EntryIsLong, type StreamedBounds } from './streamed-entries';

/** Heads and proofs: a proof of 64 hashes takes 3 kB. */
const smallResponse = 65_536;

/** A leaf and a precertificate of 2^24 bytes, and a chain of the same size, in base64 and JSON: the max size of an entry. */
const maxResponse = 72 * 1_048_576;

export interface Rfc6962Options {
  /** Ends in a slash. */
  readonly url: string;
  readonly key: LogKey;
  readonly requests: LogRequests;
  readonly memory: LogMemory;
  /** Shared by all logs: most chains occur in many. */
  readonly chains: KnownChains;
  readonly pageSize: number;
}

/** A log with the interface of RFC 6962, section 4. */
export class Rfc6962Log implements LogApi {
  /** Page size of the log, entries. */
  private likedSize: number;
  /** Number of entries of the last page that was shorter than requested; 0: none, or a longer page was complete since. */
  private shortSize = 0;
  /** Estimated number of entries that fit a page: decreases after a full page, and increases with each other one. */
  private fittingSize: number;

  constructor(private readonly options: Rfc6962Options) {
    this.likedSize = this.fittingSize = options.pageSize;
  }

  async head(signal: AbortSignal): Promise<VerifiedHead> {
    const signed = await this.options.requests.getSome(this.request('get-sth', {}), signal);
    const reading = readSignedTreeHead(parseJson(signed), this.options.key);
    if (reading.ok) return { ...reading.head, signed };
    throw new LogUnavailable(
      reading.fault === 'json'
        ? 'The log returned something other than a tree head for get-sth.'
        : `The log has not signed its tree head (${reading.fault}).`,
    );
  }

  async consistencyProof(from: number, head: VerifiedHead, signal: AbortSignal): Promise<readonly Buffer[]> {
    if (from === 0 || from === head.treeSize) return [];
    const request = this.request('get-sth-consistency', { first: from, second: head.treeSize });
    return hashesOf(parseJson(await this.options.requests.getSome(request, signal)), 'consistency');
  }

  /** From the path of the last entry, whose siblings are all on the left. */
  async treeOf(size: number, _head: VerifiedHead, signal: AbortSignal): Promise<CompactTree> {
    const page = await this.fetchLong({ from: size - 1, to: size }, size, signal);
    page.release();
    const hash = page.entries[0]?.leafHash ?? leafHash(Buffer.alloc(0));
    const request = this.request('get-proof-by-hash', { hash: hash.toString('base64'), tree_size: size });
    const path = hashesOf(parseJson(await this.options.requests.getSome(request, signal)), 'audit_path');
    const root = path.reduce((right, left) => nodeHash(left, right), hash);
    const tree = treeUpTo({ leafHash: hash, treeSize: size, path }, root);
    if (tree === null) throw new LogUnavailable('The log returned another proof for get-proof-by-hash.');
    return tree;
  }

  async timestampAt(index: number, head: VerifiedHead, signal: AbortSignal): Promise<number> {
    const page = await this.fetchLong({ from: index, to: index + 1 }, head.treeSize, signal);
    page.release();
    const [entry] = page.entries;
    return entry?.kind === 'read' ? entry.entry.timestamp : 0;
  }

  /** Chains are part of the entries. */
  issuer(): Promise<null> {
    return Promise.resolve(null);
  }

  /** Logs that align their responses return a full page when the request ends at a multiple of their page size. */
  rangeEnd(from: number, to: number): number {
    const size = Math.min(this.likedSize, this.fittingSize);
    return Math.min(to, (Math.floor(from / size) + 1) * size);
  }

  async fetch(range: EntryRange, _treeSize: number, signal: AbortSignal): Promise<EntryPage | null> {
    const { maxPage, whilePageIsRead, maxPageEntry } = this.options.memory.shares;
    const bounds = { maxHeld: maxPage, maxEntry: maxPageEntry };
    const page = await this.entries(range, bounds, whilePageIsRead, signal);
    const requested = range.to - range.from;
    const got = page?.entries.length ?? 1;
    if (page?.isFull !== false) this.fittingSize = Math.max(1, got);
    else this.fittingSize = Math.min(this.options.pageSize, this.fittingSize * 2);
    if (page?.isFull === false) this.learnSize(got, requested);
    return page;
  }

  /** The first short page may end early because the log aligns its responses; the page after it then has the full size. */
  private learnSize(got: number, requested: number): void {
    if (got < requested) {
      if (this.shortSize > 0) this.likedSize = Math.max(got, this.shortSize);
      this.shortSize = got;
    } else if (got > this.shortSize) this.shortSize = 0;
  }

  async fetchLong({ from }: EntryRange, _treeSize: number, signal: AbortSignal): Promise<EntryPage> {
    const { whileEntryIsRead } = this.options.memory.shares;
    const bounds = { maxHeld: 1, maxEntry: Infinity };
    const page = await this.entries({ from, to: from + 1 }, bounds, whileEntryIsRead, signal);
    if (page === null) throw new LogUnavailable(`Entry ${from} cannot be read.`);
    return page;
  }

  /** Null: the first entry exceeds the limits. A full page has fewer entries than the log would have returned. */
  private async entries(
    { from, to }: EntryRange,
    bounds: StreamedBounds,
    reserved: number,
    signal: AbortSignal,
  ): Promise<(EntryPage & { readonly isFull: boolean }) | null> {
    const { memory: log, requests, chains } = this.options;
    const memory = await log.budget.reserve(reserved, signal);
    const response = new JsonEntries({ ...bounds, max: to - from, chains });
    let isFull = false;
    try {
      const request = { ...this.request('get-entries', { start: from, end: to - 1 }), maxBytes: maxResponse };
      try {
        if (!(await requests.stream(request, (piece) => response.take(piece), signal)))
          throw new LogUnavailable('The log has no get-entries.');
        response.end();
      } catch (error) {
        if (error instanceof EnoughEntries) isFull = response.entries.length < to - from;
        else if (error instanceof EntryIsLong) isFull = true;
        else throw error;
      }
      const { entries } = response;
      if (entries.length === 0) {
        memory.release();
        return null;
      }
      memory.shrinkTo(response.bytes);
      return { from, entries, isFull, release: () => memory.release() };
    } catch (error) {
      memory.release();
      throw error;
    }
  }

  private request(call: string, query: Readonly<Record<string, string | number>>) {
    const url = new URL(`ct/v1/${call}`, this.options.url);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
    return { url: url.href, maxBytes: smallResponse };
  }
}

function hashesOf(response: unknown, member: string): Buffer[] {
  const texts = membersOf(response)[member];
  if (!Array.isArray(texts) || !texts.every((text) => typeof text === 'string'))
    throw new LogUnavailable(`The log returned a response without ${member}.`);
  const hashes = texts.map((text) => Buffer.from(text, 'base64'));
  if (!hashes.every(({ length }) => length === 32))
    throw new LogUnavailable(`A hash in ${member} does not have 32 bytes.`);
  return hashes;
}
