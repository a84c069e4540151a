import { type FieldFault, Problem } from '@certwright/errors';

/** Objects on one page, and the most that a caller may ask for. */
export const largestPage = 100;

/** @throws Problem `bad_query` on `limit` */
export function readLimit(limit: unknown): number {
  if (limit === undefined || limit === '') return largestPage;
  const value = typeof limit === 'string' && /^\d{1,9}$/.test(limit) ? Number(limit) : NaN;
  if (Number.isNaN(value)) throw badQuery('limit', 'invalid_value', 'It must be a whole number, once.');
  if (value < 1 || value > largestPage)
    throw badQuery('limit', 'out_of_range', `It must be from 1 to ${largestPage}.`);
  return value;
}

/**
 * Where the page begins: behind the object that this names.
 *
 * @param isName whether it can name an object at all
 * @throws Problem `bad_query` on `after`
 */
export function readAfter(after: unknown, isName: (text: string) => boolean): string | null {
  if (after === undefined || after === '') return null;
  if (typeof after !== 'string' || !isName(after)) {
    throw badQuery('after', 'invalid_value', 'It must be what the Link header of the page before says.');
  }
  return after;
}

function badQuery(field: string, code: FieldFault['code'], message: string): Problem {
  return new Problem('bad_query', `The query cannot be answered as it stands: see ${field}.`, {
    faults: [{ field, code, message }],
  });
}

/** `Link` of a page that is not the last one (RFC 8288); the next one keeps what the caller asked for. */
export function nextPageLink(path: string, after: string, limit: number, expand: unknown): string {
  const query = new URLSearchParams({ after });
  if (limit !== largestPage) query.set('limit', String(limit));
  for (const name of [expand].flat())
    if (typeof name === 'string' && name !== '') query.append('expand', name);
  return `<${path}?${query.toString()}>; rel="next"`;
}
