import type { ApiReply } from '../../testing/api-server';

/** Bodies from https://desec.readthedocs.io. */
export interface Rrset {
  readonly created: string;
  readonly domain: string;
  readonly subname: string;
  readonly name: string;
  readonly type: string;
  readonly records: readonly string[];
  readonly ttl: number;
  readonly touched: string;
}

export const rrset = (
  domain: string,
  subname: string,
  type: string,
  records: readonly string[],
  ttl: number,
): Rrset => ({
  created: '2026-09-18T16:32:16.510368Z',
  domain,
  subname,
  name: subname === '' ? `${domain}.` : `${subname}.${domain}.`,
  type,
  records,
  ttl,
  touched: '2026-10-06T09:24:09.987436Z',
});

export const domain = (name: string, minimumTtl: number): object => ({
  created: '2026-09-18T16:36:16.510368Z',
  minimum_ttl: minimumTtl,
  name,
  published: '2026-09-18T17:21:38.348112Z',
  touched: '2026-09-18T17:21:38.348112Z',
});

export const invalidToken: ApiReply = { status: 401, body: { detail: 'Invalid token.' } };
export const notFound: ApiReply = { status: 404, body: { detail: 'Not found.' } };

export const paginationRequired: ApiReply = {
  status: 400,
  headers: { link: '<https://desec.io/api/v1/domains/?cursor=>; rel="first"' },
  body: { detail: 'Pagination required. You can query up to 500 items at a time (501 total).' },
};

export const throttled: ApiReply = {
  status: 429,
  headers: { 'retry-after': '42' },
  body: { detail: 'Request was throttled. Expected available in 42 seconds.' },
};

export const malformed = {
  non_field_errors: ['Record content malformed: cannot be parsed.'],
};

export const conflictingType = {
  non_field_errors: [
    'RRset with conflicting type present: database (CNAME). (No other RRsets are allowed alongside CNAME.)',
  ],
};
