import { MemoryBudget } from '../memory/memory-budget';
import { entryPages } from './entry-pages';
import type { EntryPage, EntryRange, EntrySource, FetchedEntry } from './log-api';

const never = new AbortController().signal;

/** Pages of ten; each holds ten bytes of memory until it is released. */
class Source implements EntrySource {
  readonly memory = new MemoryBudget(100);
  underWay = 0;
  maxUnderWay = 0;

  constructor(
    private readonly responses: { readonly long?: readonly number[]; readonly short?: number } = {},
  ) {}

  rangeEnd(from: number, to: number): number {
    return Math.min(to, from + 10);
  }

  async fetch(range: EntryRange, _: number, signal: AbortSignal): Promise<EntryPage | null> {
    this.maxUnderWay = Math.max(this.maxUnderWay, (this.underWay += 1));
    const page = await this.page(range, this.responses.short ?? 10, 10, signal);
    this.underWay -= 1;
    if (!this.responses.long?.some((at) => at >= range.from && at < range.to)) return page;
    page.release();
    return null;
  }

  /** All available memory, for one entry. */
  async fetchLong(range: EntryRange, _: number, signal: AbortSignal): Promise<EntryPage> {
    return await this.page(range, 1, 100, signal);
  }

  private async page(
    { from, to }: EntryRange,
    max: number,
    bytes: number,
    signal: AbortSignal,
  ): Promise<EntryPage> {
    const held = await this.memory.reserve(bytes, signal);
    const count = Math.min(max, to - from);
    const entries = Array.from({ length: count }, (__, at): FetchedEntry => entry(from + at));
    return { from, entries, release: () => held.release() };
  }
}

const entry = (index: number): FetchedEntry => {
  const leaf = Buffer.from(String(index));
  return { kind: 'odd', leafHash: leaf, fault: '', leaf, leafBytes: leaf.length };
};

async function read(source: Source, parallel: number): Promise<string[]> {
  const seen: string[] = [];
  for await (const { entries, release } of entryPages(source, { from: 3, to: 97 }, 97, parallel, never)) {
    for (const { leafHash } of entries) seen.push(leafHash.toString());
    release();
  }
  return seen;
}

const all = Array.from({ length: 94 }, (_, at) => String(3 + at));

it.each([1, 4, 20])('returns all entries in order, from %i parallel requests', async (parallel) => {
  const source = new Source();
  expect(await read(source, parallel)).toEqual(all);
  expect(source.maxUnderWay).toBeLessThanOrEqual(parallel);
});

it('leaves no gap after short pages', async () => {
  for (const short of [1, 3, 9]) expect(await read(new Source({ short }), 4)).toEqual(all);
});

it('releases the memory of prefetched pages for a response that needs all of it', async () => {
  expect(await read(new Source({ long: [15, 16, 60, 96] }), 5)).toEqual(all);
});

it('holds no memory when the caller stops early', async () => {
  const source = new Source();
  for await (const { release } of entryPages(source, { from: 0, to: 90 }, 90, 5, never)) {
    release();
    break;
  }
  expect((await source.memory.reserve(100, never)).bytes).toBe(100);
});
