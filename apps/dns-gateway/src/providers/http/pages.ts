import { ProviderFault } from '../provider-fault';

export interface Page<Item, Cursor> {
  readonly items: readonly Item[];
  /** Null: this was the last page. */
  readonly next: Cursor | null;
}

export interface PageBounds {
  readonly maxPages: number;
  readonly maxItems: number;
}

const usualBounds: PageBounds = { maxPages: 200, maxItems: 10_000 };

/**
 * Every item of every page. Always ends: a repeated cursor, a page with only known items, and exceeding the limits
 * are errors. An item that moved to a later page meanwhile counts once.
 *
 * @param first a string or a number, as the API counts
 * @throws ProviderFault `unavailable`
 */
export async function allPages<Item, Cursor>(
  provider: string,
  first: Cursor,
  read: (cursor: Cursor) => Promise<Page<Item, Cursor>>,
  keyOf: (item: Item) => string,
  { maxPages, maxItems }: PageBounds = usualBounds,
): Promise<readonly Item[]> {
  const items = new Map<string, Item>();
  const cursors = new Set<Cursor>();
  let cursor: Cursor | null = first;
  while (cursor !== null) {
    if (cursors.has(cursor)) throw endless(provider);
    cursors.add(cursor);
    const page: Page<Item, Cursor> = await read(cursor);
    const before = items.size;
    for (const item of page.items) items.set(keyOf(item), item);
    if (page.items.length > 0 && items.size === before) throw endless(provider);
    cursor = page.next;
    if (items.size > maxItems || (cursor !== null && cursors.size >= maxPages)) {
      throw new ProviderFault('unavailable', `${provider} lists more than ${maxItems} entries.`);
    }
  }
  return [...items.values()];
}

const endless = (provider: string): ProviderFault =>
  new ProviderFault('unavailable', `${provider} gives the same page of its list again and again.`);
