import type { PageRequest, StoredIssuance } from './issuance-pages';
import { issuanceTable } from './partitions';
import {
  addRevocations,
  type PackedIssuance,
  packedIssuances,
  type RevocationsRead,
  unpackIssuances,
} from './packed-issuances';
import type { Lookup, PageReader } from './page-reader';
import { isUndefinedTable } from '@certwright/ct-schema';
import { behindPosition, endOfReading } from './visible-end';

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

/**
 * Positions whose issuances are one value, where a page has a thousand of them. PostgreSQL and V8 map new memory for each value above
 * 128 KiB.
 */
const together = 256;

/** Max bytes of the names of an issuance that are read before the length of all is known. */
const short = 10_240;

/** Not less than the bytes of the names; NULL: they are not short. Only compressed names are read to determine their length. */
const shortLength = `CASE WHEN pg_column_size(dns_names) > ${short} THEN NULL
  WHEN pg_column_compression(dns_names) IS NULL THEN pg_column_size(dns_names) ELSE octet_length(array_send(dns_names)) END`;
const shortNames = (length: string) => `CASE WHEN ${length} <= ${short} THEN dns_names END`;

/** In one partition, or in all, whose bounds prune a generic plan: positions are in order. */
const inPartition = (table: string) => `FROM ${table} AS issuance WHERE position = ANY ($1::bigint[])`;
const inAll = `FROM ct_issuance AS issuance
  WHERE position BETWEEN ($1::bigint[])[1] AND ($1::bigint[])[cardinality($1::bigint[])] AND position = ANY ($1::bigint[])`;

/** Positions in any order; undefined: it is deleted, or its names are too long for a batched lookup. */
type IssuanceLookup = Lookup<number, PackedIssuance | undefined>;

function lookupIn(from: string, read: RevocationsRead): IssuanceLookup {
  const packed = packedIssuances(shortNames(shortLength), read);
  return {
    async of(reader, positions) {
      const wanted = [...new Set(positions)].sort((one, other) => one - other);
      const [row] = await reader.query<{ packed: string | null }[]>(`SELECT ${packed} AS packed ${from}`, [
        wanted,
      ]);
      const found = new Map(unpackIssuances(row?.packed ?? null).map((each) => [each.positionNumber, each]));
      return positions.map((position) => found.get(position));
    },
  };
}

/** One lookup per partition. */
class IssuanceLookups {
  readonly anywhere: IssuanceLookup;
  private readonly byPartition = new Map<number, IssuanceLookup>();

  constructor(private readonly read: RevocationsRead) {
    this.anywhere = lookupIn(inAll, read);
  }

  in(partition: number): IssuanceLookup {
    const lookup =
      this.byPartition.get(partition) ?? lookupIn(inPartition(issuanceTable(partition)), this.read);
    this.byPartition.set(partition, lookup);
    return lookup;
  }
}

const lookups = { joined: new IssuanceLookups('joined'), later: new IssuanceLookups('later') };

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
  const read = await readBy(reader);
  const pages = await Promise.all(
    Array.from(those, async ([end, of]) => await lookUp(reader, of, end, lookups[read])),
  );
  const issuances = pages.flat().filter((each) => each !== undefined);
  if (issuances.length < positions.length) return await cutPage(reader, read, inAll, [positions]);
  return { issuances: await withRevocations(reader, read, issuances), isCut: false };
}

/** The revocation lists are on the server that processes connect to. */
async function readBy(reader: Pick<PageReader, 'isSharded'>): Promise<RevocationsRead> {
  return (await reader.isSharded()) ? 'later' : 'joined';
}

async function lookUp(
  reader: PageReader,
  positions: readonly number[],
  partition: number | undefined,
  lookupsOf: IssuanceLookups,
): Promise<readonly (PackedIssuance | undefined)[]> {
  try {
    return await reader.look(
      partition === undefined ? lookupsOf.anywhere : lookupsOf.in(partition),
      positions,
    );
  } catch (error) {
    if (isUndefinedTable(error)) return [];
    throw error;
  }
}

/** The next ones after a position. @param withNames false: `dnsNames` is empty */
export async function issuancesBehind(
  reader: Pick<PageReader, 'query' | 'isSharded'>,
  { after, limit }: PageRequest,
  withNames: boolean,
): Promise<IssuancePage> {
  const { from, values } = behindPosition(after, limit, await endOfReading(reader));
  const read = await readBy(reader);
  const names = withNames ? shortNames('length') : `'{}'::text[]`;
  // Nearly every page fits, and comparing sums costs a third of comparing the sum at each row.
  const share = Math.min(1, together / limit);
  const fits = `bool_and(coalesce(length, ${short} + 1) <= ${short}) AND sum(length) <= ${Math.ceil(maxNameBytes.sent * share)}
    AND sum(pg_column_size(dns_names)) <= ${Math.ceil(maxNameBytes.stored * share)}`;
  // What does not fit is not sent: the short names of a thousand issuances may have 10 MB.
  const rows = await reader.query<{ packed: string | null }[]>(
    `SELECT CASE WHEN ${fits} THEN ${packedIssuances(names, read)} END AS packed
     FROM (SELECT *, ${shortLength} AS length ${from}) AS issuance GROUP BY position / ${together}`,
    values,
  );
  if (rows.some(({ packed }) => packed === null)) return await cutPage(reader, read, from, values);
  const issuances = rows
    .flatMap(({ packed }) => unpackIssuances(packed))
    .sort((one, other) => one.positionNumber - other.positionNumber);
  return { issuances: await withRevocations(reader, read, issuances), isCut: false };
}

/** As many as fit the size limit, at least one. */
async function cutPage(
  reader: Pick<PageReader, 'query'>,
  read: RevocationsRead,
  from: string,
  values: unknown[],
): Promise<IssuancePage> {
  const [row] = await reader.query<{ packed: string | null; isCut: boolean | null }[]>(
    `SELECT ${packedIssuances('CASE WHEN fits THEN dns_names END', read, 'ORDER BY position')} AS packed, NOT bool_and(fits) AS "isCut" FROM (
       SELECT *, stored_fits AND sum(sent) OVER (ORDER BY position) - sent <= ${maxNameBytes.sent} AS fits FROM (
         SELECT *, CASE WHEN stored_fits THEN octet_length(array_send(dns_names)) END AS sent FROM (
           SELECT *, sum(stored) OVER (ORDER BY position) - stored <= ${maxNameBytes.stored} AS stored_fits FROM (
             SELECT *, pg_column_size(dns_names) AS stored ${from}) AS one) AS one) AS one) AS issuance`,
    values,
  );
  const issuances = unpackIssuances(row?.packed ?? null);
  return { issuances: await withRevocations(reader, read, issuances), isCut: row?.isCut === true };
}

async function withRevocations(
  reader: Pick<PageReader, 'query'>,
  read: RevocationsRead,
  issuances: readonly PackedIssuance[],
): Promise<readonly PackedIssuance[]> {
  if (read === 'later') await addRevocations(reader, issuances);
  return issuances;
}
