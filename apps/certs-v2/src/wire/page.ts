import { Refusal } from './reasons';

/**
 * How many objects a page has.
 *
 * @param largest also what holds when the caller says nothing
 * @throws Refusal `bad_param` on `limit`
 */
export function readLimit(limit: unknown, largest: number): number {
  if (limit === undefined || limit === '') return largest;
  const value = typeof limit === 'string' && /^\d{1,9}$/.test(limit) ? Number(limit) : 0;
  if (value >= 1 && value <= largest) return value;
  throw new Refusal('bad_param', `limit must be a whole number from 1 to ${largest}, once.`, {
    param: 'limit',
  });
}

/**
 * A query parameter that comes at most once.
 *
 * @returns null when it is absent or empty
 * @throws Refusal `bad_param`
 */
export function readOnce(value: unknown, param: string): string | null {
  if (value === undefined || value === '') return null;
  if (typeof value === 'string') return value;
  throw new Refusal('bad_param', `${param} must be a text, once.`, { param });
}

/** `Link` of a page that is not the last one (RFC 8288); the next one keeps what the caller asked for. */
export function nextPageLink(address: string, query: Readonly<Record<string, unknown>>): string {
  const next = new URLSearchParams();
  for (const [name, values] of Object.entries(query)) {
    for (const value of [values].flat())
      if (typeof value === 'string' && value !== '') next.append(name, value);
  }
  return `<${address}?${next.toString()}>; rel="next"`;
}
