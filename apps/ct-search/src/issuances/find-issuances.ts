import { matchesQuery, queryKeys } from '@certwright/ct';
import {
  issuanceAt,
  issuanceBodies,
  type IssuanceBody,
  type IssuancePage,
  pageOfKeys,
  type StoredIssuance,
} from '@certwright/ct-index';
import { Problem } from '@certwright/errors';
import type { IndexReader } from '../ct-index/index-readers';
import { readId } from '../wire/paging';
import type { SearchQuery } from './search-query';

/** Max issuances on a page of a search. */
export const searchPageSize = 100;

/** Position before every issuance. */
const beginning = '0';

/**
 * The next unexpired issuances with a name that matches the query, in the order of discovery: a full page if there are
 * enough. Different names may share a key of the index, so each issuance's names are checked, and the page is filled up.
 *
 * @throws Problem `timeout`, `service_outage`
 */
export async function findIssuances(reader: IndexReader, sent: SearchQuery): Promise<IssuancePage> {
  const query = sent.toNameQuery();
  const keys = queryKeys(query).map((key) => Buffer.from(key, 'hex'));
  const found: StoredIssuance[] = [];
  for (let from = sent.after ?? beginning; ;) {
    const limit = searchPageSize - found.length;
    const { issuances, isCut } = await pageOfKeys(reader, keys, { after: from, limit });
    for (const each of issuances) if (matchesQuery(each.dnsNames, query)) found.push(each);
    const last = issuances.at(-1);
    const isEnd = last === undefined || (issuances.length < limit && !isCut);
    if (isEnd || found.length >= searchPageSize) return { issuances: found, isCut: false };
    if (isCut && found.length > 0) return { issuances: found, isCut };
    from = last.position;
  }
}

/**
 * One issuance; also an expired one, while it is kept.
 *
 * @param id as sent in the path
 * @throws Problem `not_found`, `timeout`, `service_outage`
 */
export async function issuanceOf(reader: IndexReader, id: string): Promise<StoredIssuance> {
  const position = readId(id);
  const found = position === null ? null : await issuanceAt(reader, position);
  return found ?? notFound();
}

/** Its certificate, as `issuanceOf`. */
export async function bodyOf(reader: IndexReader, id: string): Promise<IssuanceBody> {
  const position = readId(id);
  const [found] = position === null ? [] : await issuanceBodies(reader, [position], 0);
  return found ?? notFound();
}

function notFound(): never {
  throw new Problem('not_found', 'There is no issuance with this id.');
}
