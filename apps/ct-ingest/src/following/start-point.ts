/** Start of a log of which no entry was ingested yet. */
export type Start =
  | { readonly at: 'beginning' | 'now' }
  | { readonly at: 'index'; readonly index: number }
  /** The first entry with this timestamp or a later one, milliseconds since the epoch. */
  | { readonly at: 'date'; readonly ms: number };

export function readStart(text: string): Start | null {
  if (text === 'beginning' || text === 'now') return { at: text };
  if (/^\d{1,15}$/.test(text)) return { at: 'index', index: Number(text) };
  const ms = /^\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:\d\d))?$/.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(ms) ? null : { at: 'date', ms };
}

/**
 * The index of the first entry to ingest, at most the size of the tree. The order of timestamps may differ from the order of indexes
 * by up to the log's maximum merge delay, so a date is only as precise as that. Entries before an unreadable entry are not skipped
 * because of it: reading too many entries is preferred to reading too few.
 *
 * @param timestampAt milliseconds since the epoch; null: the entry cannot be read
 */
export async function startIndex(
  start: Start,
  treeSize: number,
  timestampAt: (index: number) => Promise<number | null>,
): Promise<number> {
  switch (start.at) {
    case 'beginning':
      return 0;
    case 'now':
      return treeSize;
    case 'index':
      return Math.min(start.index, treeSize);
    case 'date': {
      let [from, to] = [0, treeSize];
      while (from < to) {
        const middle = Math.floor((from + to) / 2);
        if (((await timestampAt(middle)) ?? start.ms) < start.ms) from = middle + 1;
        else to = middle;
      }
      return from;
    }
  }
}
