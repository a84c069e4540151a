import { oddQueryKeys, queryKeys } from '@certwright/ct';
import { pageOfKeysBy, type ReadingOf } from '../issuance-pages';
import type { PageReader } from '../page-reader';
import { type IssuancesToMatch, issuancesToMatchAt, type IssuanceToMatch } from './issuances-to-match';

const reading: ReadingOf<IssuanceToMatch> = {
  at: issuancesToMatchAt,
  notAfterMs: ({ notAfter }) => notAfter.getTime(),
};

export interface ConcernedPage {
  /** Last position of the previous page; `0`: from the first. */
  readonly after: string;
  /** The last position of interest. */
  readonly upTo: string;
  readonly limit: number;
}

/**
 * The next unexpired issuances that may concern a monitored domain, in the order of positions: those with a name at or below
 * it, with the wildcard above it, or with an odd name that may contain it. Each must be matched: keys of the index are shared.
 * The end is reached when a page has fewer than `limit` and is not cut.
 *
 * @param domain in normal form; with a leading dot for a tree
 */
export async function concernedIssuances(
  reader: PageReader,
  domain: string,
  { after, upTo, limit }: ConcernedPage,
): Promise<IssuancesToMatch> {
  const isTree = domain.startsWith('.');
  const name = isTree ? domain.slice(1) : domain;
  const keys = [
    ...queryKeys({ domain: name, includeSubdomains: isTree, matchWildcards: true }),
    ...oddQueryKeys(name),
  ].map((key) => Buffer.from(key, 'hex'));
  return await pageOfKeysBy(reading, reader, keys, { after, limit, upTo: Number(upTo) });
}
