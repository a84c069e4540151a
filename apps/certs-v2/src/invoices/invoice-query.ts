import { Refusal } from '../wire/reasons';

/** Invoices on one page, and the most that a caller may ask for. */
const largestPage = 100;

/** `<account>-<running number of the account>`; what looks otherwise was never an invoice. */
const numberShape = /^\d{1,19}-\d{1,10}$/;

export function isInvoiceNumber(text: string): boolean {
  return numberShape.test(text);
}

export interface InvoiceQuery {
  /** Number of the last invoice of the page before; null: the first page. */
  readonly after: string | null;
  readonly limit: number;
}

/** @throws Refusal `bad_param` on `limit` or `after` */
export function readInvoiceQuery({
  after,
  limit,
}: {
  readonly after?: unknown;
  readonly limit?: unknown;
}): InvoiceQuery {
  return { after: readAfter(after), limit: readLimit(limit) };
}

function readAfter(after: unknown): string | null {
  if (after === undefined || after === '') return null;
  if (typeof after === 'string' && isInvoiceNumber(after)) return after;
  throw new Refusal('bad_param', 'after must be the number of an invoice, once.', { param: 'after' });
}

function readLimit(limit: unknown): number {
  if (limit === undefined || limit === '') return largestPage;
  const value = typeof limit === 'string' && /^\d{1,9}$/.test(limit) ? Number(limit) : NaN;
  if (value >= 1 && value <= largestPage) return value;
  throw new Refusal('bad_param', `limit must be a whole number from 1 to ${largestPage}, once.`, {
    param: 'limit',
  });
}

/** `Link` of a page that is not the last one (RFC 8288). @param address of the first page */
export function nextPageLink(address: string, after: string, limit: number): string {
  const query = new URLSearchParams({ after });
  if (limit !== largestPage) query.set('limit', String(limit));
  return `<${address}?${query.toString()}>; rel="next"`;
}
