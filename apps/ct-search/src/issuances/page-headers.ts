import type { StoredIssuance } from '@certwright/ct-index';

/** How long whoever has seen all is asked to wait before asking again, seconds. */
const restS = 300;

/**
 * `Link` where a next page may have something: behind a full page, and behind one that was cut or ended early. `Retry-After` where there
 * was nothing.
 *
 * @param count of those found that are on the page
 * @param next makes the header for what is behind an issuance
 */
export function pageHeaders(
  found: readonly StoredIssuance[],
  count: number,
  mayGoOn: boolean,
  next: (after: string) => string,
): Readonly<Record<string, string>> {
  const last = found[count - 1];
  if (last === undefined) return { 'retry-after': String(restS) };
  return mayGoOn || count < found.length ? { link: next(last.position) } : {};
}
