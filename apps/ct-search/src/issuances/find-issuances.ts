import { matchesQuery, type NameQuery, queryKeys } from '@certwright/ct';
import { pageOfKeys, type StoredIssuance } from '@certwright/ct-persistence';
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
): Promise<readonly StoredIssuance[]> {
  const keys = queryKeys(query).map((key) => Buffer.from(key, 'hex'));
  const found: StoredIssuance[] = [];
  for (let from = after; ;) {
    const limit = searchPageSize - found.length;
    const rows = await pageOfKeys(reader, keys, { after: from, limit, withBody: false });
    for (const row of rows) if (matchesQuery(row.dnsNames, query)) found.push(row);
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit || found.length >= searchPageSize) return found;
    from = last.position;
  }
}
