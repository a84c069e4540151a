import { matchesQuery, type NameQuery, queryKeys } from '@certwright/ct';
import { type IssuancePage, pageOfKeys, type StoredIssuance } from '@certwright/ct-index';
import type { IndexReader } from '../ct-index/index-readers';

/** Issuances on a page of a search. */
export const searchPageSize = 100;

/**
 * The next unexpired issuances with a name that the query asks for, in the order of discovery: a whole page while there are as
 * many. Different names may share a key of the index, so that each issuance's own names decide, and the page is filled up.
 *
 * @throws Problem `timeout`, `service_outage`
 */
export async function findIssuances(
  reader: IndexReader,
  query: NameQuery,
  after: string,
): Promise<IssuancePage> {
  const keys = queryKeys(query).map((key) => Buffer.from(key, 'hex'));
  const found: StoredIssuance[] = [];
  for (let from = after; ;) {
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
