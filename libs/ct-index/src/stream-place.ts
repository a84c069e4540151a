import type { EntityManager } from 'typeorm';
import type { PageReader } from './page-reader';
import { endOfReading } from './visible-end';

/** Max issuances for measuring the rate, so that a query takes some milliseconds regardless of their number. */
const maxCounted = 5_000;

/** The period in which they are counted. */
const countedWithinS = 60;

export interface StreamEnd {
  /** Position of the newest issuance; null: there is none. */
  readonly newest: string | null;
  readonly discoveredAt: Date | null;
  /** Recent discoveries per second. */
  readonly perSecond: number;
}

/** The state of the index. */
export async function streamEnd(reader: Pick<EntityManager, 'query'>): Promise<StreamEnd> {
  const [row] = await reader.query<StreamEnd[]>(
    `WITH recent AS (
       SELECT position, discovered_at FROM ct_issuance ORDER BY position DESC LIMIT ${maxCounted}),
     counted AS (
       SELECT count(*) AS issuances, extract(epoch FROM now() - min(discovered_at))::float8 AS seconds FROM recent
       WHERE discovered_at > now() - interval '${countedWithinS} seconds')
     SELECT max(position)::text AS newest, max(discovered_at) AS "discoveredAt",
       (SELECT CASE WHEN issuances = ${maxCounted} THEN issuances / greatest(seconds, 1)
         ELSE issuances / ${countedWithinS}.0 END FROM counted)::float8 AS "perSecond"
     FROM recent`,
  );
  return row ?? { newest: null, discoveredAt: null, perSecond: 0 };
}

/**
 * The last position before the first issuance that was discovered at `since` or later: the stream since then follows it.
 * Times of discovery grow with positions, so it is found by binary search, with one index lookup for each of about
 * thirty steps. A gap is skipped as a whole: the position after its middle is the one after all of it.
 */
export async function positionBefore(
  reader: Pick<PageReader, 'query' | 'isSharded'>,
  since: Date,
): Promise<string> {
  const end = await endOfReading(reader);
  if (end < Infinity) return await halving(reader, since, end);
  const [row] = await reader.query<{ position: string }[]>(
    `WITH RECURSIVE halving (low, high) AS (
       SELECT 0::bigint, next FROM ct_sequence
       UNION ALL
       SELECT CASE WHEN is_before THEN seen.position ELSE low END, CASE WHEN is_before THEN high ELSE middle END
       FROM (SELECT low, high, (low + high) / 2 AS middle FROM halving WHERE low < high) AS half
       LEFT JOIN LATERAL (
         SELECT position, discovered_at FROM ct_issuance WHERE position > middle ORDER BY position LIMIT 1) AS seen ON true
       CROSS JOIN LATERAL (SELECT coalesce(seen.discovered_at < $1::timestamptz, false) AS is_before) AS compared)
     SELECT low AS position FROM halving WHERE low >= high`,
    [since],
  );
  return row?.position ?? '0';
}

/** The same with one statement per step: Citus has no recursion over distributed tables. */
async function halving(reader: Pick<PageReader, 'query'>, since: Date, end: number): Promise<string> {
  let [low, high] = [0, end];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [seen] = await reader.query<{ position: string; discoveredAt: Date }[]>(
      `SELECT position, discovered_at AS "discoveredAt" FROM ct_issuance WHERE position > $1 ORDER BY position LIMIT 1`,
      [middle],
    );
    if (seen !== undefined && seen.discoveredAt < since) low = Number(seen.position);
    else high = middle;
  }
  return String(low);
}
