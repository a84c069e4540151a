import {
  type CompactTree,
  type KnownChains,
  leafHash,
  type LogKey,
  nodeHash,
  readSignedTreeHead,
  treeUpTo,
} from '@certwright/ct';
import type { MemoryBudget } from '../memory/memory-budget';
import type { MemoryShares } from '../memory/memory-shares';
import { membersOf, parseJson, readJsonEntries } from './json-entries';
import type { EntryPage, EntryRange, LogApi, VerifiedHead } from './log-api';
import { LogUnavailable } from './log-faults';
import { AnswerTooLong, type LogRequests } from './log-requests';

/** Heads and proofs: a proof of 64 hashes takes 3 kB. */
const smallAnswer = 65_536;

/** More time for an answer of megabytes. */
const longPatience = 10;

export interface Rfc6962Options {
  /** Ends in a slash. */
  readonly url: string;
  readonly key: LogKey;
  readonly requests: LogRequests;
  readonly memory: MemoryBudget;
  readonly shares: MemoryShares;
  /** Of entries of all logs: most chains come from many. */
  readonly chains: KnownChains;
  readonly pageSize: number;
}

/** A log with the interface of RFC 6962, section 4. */
export class Rfc6962Log implements LogApi {
  /** Entries that the log likes to give at a time. */
  private likedSize: number;
  /** Entries that fit an ordinary answer, as far as is known: less after one that was too long, more with each that was not. */
  private fittingSize: number;

  constructor(private readonly options: Rfc6962Options) {
    this.likedSize = this.fittingSize = options.pageSize;
  }

  async head(signal: AbortSignal): Promise<VerifiedHead> {
    const signed = await this.options.requests.getSome(this.ask('get-sth', {}), signal);
    const reading = readSignedTreeHead(parseJson(signed), this.options.key);
    if (reading.ok) return { ...reading.head, signed };
    throw new LogUnavailable(
      reading.fault === 'json'
        ? 'The log answered get-sth with something else.'
        : `The log has not signed its tree head (${reading.fault}).`,
    );
  }

  async consistencyProof(from: number, head: VerifiedHead, signal: AbortSignal): Promise<readonly Buffer[]> {
    if (from === 0 || from === head.treeSize) return [];
    const asking = this.ask('get-sth-consistency', { first: from, second: head.treeSize });
    return hashesOf(parseJson(await this.options.requests.getSome(asking, signal)), 'consistency');
  }

  /** By the path of its last entry, whose siblings are all on the left. */
  async treeOf(size: number, _head: VerifiedHead, signal: AbortSignal): Promise<CompactTree> {
    const page = await this.fetchLong({ from: size - 1, to: size }, size, signal);
    page.release();
    const hash = page.entries[0]?.leafHash ?? leafHash(Buffer.alloc(0));
    const asking = this.ask('get-proof-by-hash', { hash: hash.toString('base64'), tree_size: size });
    const path = hashesOf(parseJson(await this.options.requests.getSome(asking, signal)), 'audit_path');
    const root = path.reduce((right, left) => nodeHash(left, right), hash);
    const tree = treeUpTo({ leafHash: hash, treeSize: size, path }, root);
    if (tree === null) throw new LogUnavailable('The log answered get-proof-by-hash with another proof.');
    return tree;
  }

  async timestampAt(index: number, head: VerifiedHead, signal: AbortSignal): Promise<number> {
    const page = await this.fetchLong({ from: index, to: index + 1 }, head.treeSize, signal);
    page.release();
    const [entry] = page.entries;
    return entry?.kind === 'read' ? entry.entry.timestamp : 0;
  }

  /** Chains come with the entries. */
  issuer(): Promise<null> {
    return Promise.resolve(null);
  }

  /** Logs that align their answers answer in full when they are asked up to a multiple of their page size. */
  rangeEnd(from: number, to: number): number {
    const size = Math.min(this.likedSize, this.fittingSize);
    return Math.min(to, (Math.floor(from / size) + 1) * size);
  }

  async fetch(range: EntryRange, _treeSize: number, signal: AbortSignal): Promise<EntryPage | null> {
    const { page: mostOctets, whilePageIsRead } = this.options.shares;
    const page = await this.entries(range, { mostOctets, reserved: whilePageIsRead, patience: 1 }, signal);
    const asked = range.to - range.from;
    if (page === null) this.fittingSize = Math.max(1, Math.floor(asked / 4));
    else this.fittingSize = Math.min(this.options.pageSize, this.fittingSize * 2);
    if (page !== null && page.entries.length < asked) this.likedSize = page.entries.length;
    return page;
  }

  async fetchLong({ from, to }: EntryRange, treeSize: number, signal: AbortSignal): Promise<EntryPage> {
    for (let count = Math.ceil((to - from) / 4); count > 1; count = Math.ceil(count / 4)) {
      const page = await this.fetch({ from, to: from + count }, treeSize, signal);
      if (page !== null) return page;
    }
    const { singleEntry: mostOctets, whileSingleEntryIsRead: reserved } = this.options.shares;
    const one = { from, to: from + 1 };
    const page = await this.entries(one, { mostOctets, reserved, patience: longPatience }, signal);
    if (page === null) throw new LogUnavailable(`Entry ${from} is longer than an entry can be.`);
    return page;
  }

  /** Null: the answer is too long. */
  private async entries(
    { from, to }: EntryRange,
    { mostOctets, reserved, patience }: { mostOctets: number; reserved: number; patience: number },
    signal: AbortSignal,
  ): Promise<EntryPage | null> {
    const memory = await this.options.memory.reserve(reserved, signal);
    try {
      const asking = { ...this.ask('get-entries', { start: from, end: to - 1 }), mostOctets, patience };
      const body = await this.options.requests.getSome(asking, signal);
      const entries = readJsonEntries(body, to - from, this.options.chains);
      memory.shrinkTo(body.length);
      return { from, entries, release: () => memory.release() };
    } catch (error) {
      memory.release();
      if (error instanceof AnswerTooLong) return null;
      throw error;
    }
  }

  private ask(call: string, query: Readonly<Record<string, string | number>>) {
    const url = new URL(`ct/v1/${call}`, this.options.url);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
    return { url: url.href, mostOctets: smallAnswer };
  }
}

function hashesOf(answer: unknown, member: string): Buffer[] {
  const texts = membersOf(answer)[member];
  if (!Array.isArray(texts) || !texts.every((text) => typeof text === 'string'))
    throw new LogUnavailable(`The log answered without ${member}.`);
  const hashes = texts.map((text) => Buffer.from(text, 'base64'));
  if (!hashes.every(({ length }) => length === 32)) throw new LogUnavailable(`A hash in ${member} is none.`);
  return hashes;
}
