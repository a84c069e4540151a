import type { StoredIssuance } from './issuance-pages';
import { issuanceTable } from './partitions';
import { packedIssuances, unpackIssuances } from './packed-issuances';
import type { Lookup, PageReader } from './page-reader';
import { isUndefinedTable } from '@certwright/ct-schema';

/** Issuances in the order of discovery. */
export interface IssuancePage {
  readonly issuances: readonly StoredIssuance[];
  /** The page is shorter than requested because of its size: more may follow after its last one. It has at least one. */
  readonly isCut: boolean;
}

/**
 * Max bytes of names on a page, stored and uncompressed: real pages have less, but a log entry may have 16 MB of
 * them, which compression may reduce to a hundredth.
 */
const maxNameBytes = { stored: 1_048_576, sent: 4_194_304 };

/** Max bytes of the names of an issuance in a batched lookup. Only compressed names are read to determine their length. */
const short = 10_240;
const isShort = `CASE WHEN pg_column_size(dns_names) > ${short} THEN false
  WHEN pg_column_compression(dns_names) IS NULL THEN true ELSE octet_length(array_send(dns_names)) <= ${short} END`;

const packed = packedIssuances(isShort);

/** In one partition, or in all, whose bounds prune a generic plan: positions are in order. */
const inPartition = (table: string) => `FROM ${table} AS issuance WHERE position = ANY ($1::bigint[])`;
const inAll = `FROM ct_issuance AS issuance
  WHERE position BETWEEN ($1::bigint[])[1] AND ($1::bigint[])[cardinality($1::bigint[])] AND position = ANY ($1::bigint[])`;

/** Positions in any order; undefined: it is deleted, or its names are too long for a batched lookup. */
type IssuanceLookup = Lookup<number, StoredIssuance | undefined>;

function lookupIn(from: string): IssuanceLookup {
  return {
    async of(reader, positions) {
      const wanted = [...new Set(positions)].sort((one, other) => one - other);
      const [row] = await reader.query<{ packed: string | null }[]>(`SELECT ${packed} AS packed ${from}`, [
        wanted,
      ]);
      const found = new Map(
        unpackIssuances(row?.packed ?? null).map((each) => [Number(each.position), each]),
      );
      return positions.map((position) => found.get(position));
    },
  };
}

const anywhere = lookupIn(inAll);
const byPartition = new Map<number, IssuanceLookup>();

/** One lookup per partition. */
function issuancesIn(partition: number): IssuanceLookup {
  const lookup = byPartition.get(partition) ?? lookupIn(inPartition(issuanceTable(partition)));
  byPartition.set(partition, lookup);
  return lookup;
}

/**
 * The issuances that still exist.
 *
 * @param positions ascending
 * @param partitions of the positions, by their ends: the start of a statement is slower the more tables it may need
 */
export async function issuancesAt(
  reader: PageReader,
  positions: readonly number[],
  partitions: ReadonlySet<number>,
): Promise<IssuancePage> {
  const ends = [...partitions].sort((one, other) => one - other);
  const those = Map.groupBy(positions, (position) => ends.find((end) => position < end));
  const pages = await Promise.all(Array.from(those, async ([end, of]) => await lookUp(reader, of, end)));
  const issuances = pages.flat().filter((each) => each !== undefined);
  return issuances.length === positions.length
    ? { issuances, isCut: false }
    : await cutPage(reader, inAll, [positions]);
}

async function lookUp(
  reader: PageReader,
  positions: readonly number[],
  partition: number | undefined,
): Promise<readonly (StoredIssuance | undefined)[]> {
  try {
    return await reader.look(partition === undefined ? anywhere : issuancesIn(partition), positions);
  } catch (error) {
    if (isUndefinedTable(error)) return [];
    throw error;
  }
}

/** The next ones after a position. */
export async function issuancesBehind(
  reader: Pick<PageReader, 'query'>,
  after: string,
  limit: number,
): Promise<IssuancePage> {
  return await cutPage(reader, `FROM ct_issuance WHERE position > $1 ORDER BY position LIMIT $2`, [
    after,
    limit,
  ]);
}

/** As many as fit the size limit, at least one. */
async function cutPage(
  reader: Pick<PageReader, 'query'>,
  from: string,
  values: unknown[],
): Promise<IssuancePage> {
  const [row] = await reader.query<{ packed: string | null; isCut: boolean | null }[]>(
    `SELECT ${packedIssuances('fits', 'ORDER BY position')} AS packed, NOT bool_and(fits) AS "isCut" FROM (
       SELECT *, stored_fits AND sum(sent) OVER (ORDER BY position) - sent <= ${maxNameBytes.sent} AS fits FROM (
         SELECT *, CASE WHEN stored_fits THEN octet_length(array_send(dns_names)) END AS sent FROM (
           SELECT *, sum(stored) OVER (ORDER BY position) - stored <= ${maxNameBytes.stored} AS stored_fits FROM (
             SELECT *, pg_column_size(dns_names) AS stored ${from}) AS one) AS one) AS one) AS issuance`,
    values,
  );
  return { issuances: unpackIssuances(row?.packed ?? null), isCut: row?.isCut === true };
}
