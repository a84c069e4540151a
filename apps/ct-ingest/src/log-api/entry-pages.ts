import type { EntryPage, EntryRange, EntrySource } from './log-api';

interface Fetching {
  readonly range: EntryRange;
  readonly page: Promise<EntryPage | null>;
}

/**
 * All entries [from, to) in order, prefetched in parallel. The caller releases each page. A page that is shorter than
 * requested discards what was prefetched: the rest is requested again, in the page size of the log.
 *
 * @throws LogUnavailable
 */
export async function* entryPages(
  source: EntrySource,
  { from, to }: EntryRange,
  treeSize: number,
  parallel: number,
  signal: AbortSignal,
): AsyncGenerator<EntryPage> {
  for (let at = from; at < to;) {
    for await (const { range, page } of fetchedAhead(source, { from: at, to }, treeSize, parallel, signal)) {
      const next = page ?? (await source.fetchLong(range, treeSize, signal));
      at = next.from + next.entries.length;
      yield next;
      if (at < range.to) break;
    }
  }
}

/** Ends after the first range that could not be fetched normally, so that the memory of later ranges is free. */
async function* fetchedAhead(
  source: EntrySource,
  { from, to }: EntryRange,
  treeSize: number,
  parallel: number,
  signal: AbortSignal,
): AsyncGenerator<{ readonly range: EntryRange; readonly page: EntryPage | null }> {
  const abandoning = new AbortController();
  const either = AbortSignal.any([signal, abandoning.signal]);
  const underWay: Fetching[] = [];
  const abandon = () => {
    abandoning.abort(new Error('not needed any more'));
    for (const { page } of underWay.splice(0))
      void page.then(
        (late) => late?.release(),
        () => undefined,
      );
  };
  try {
    for (let planned = from; planned < to || underWay.length > 0;) {
      while (planned < to && underWay.length < parallel) {
        const range = { from: planned, to: source.rangeEnd(planned, to) };
        const page = source.fetch(range, treeSize, either);
        // Handled in its turn.
        page.catch(() => undefined);
        underWay.push({ range, page });
        planned = range.to;
      }
      const first = underWay.shift();
      if (first === undefined) return;
      const page = await first.page;
      if (page === null) abandon();
      yield { range: first.range, page };
      if (page === null) return;
    }
  } finally {
    abandon();
  }
}
