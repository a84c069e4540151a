import type { EntityManager } from 'typeorm';
import { BinaryRows } from '@certwright/ct-schema';
import { binaryArray } from '@certwright/ct-schema';
import type { NewIssuance } from './new-issuance';
import { knownTable } from './partitions';

type Known = Pick<NewIssuance, 'tbsSha256' | 'notAfter'>;

/** 16 bytes of a TBS hash are stored: two of 10^10 issuances share them with a probability of 10^-19. */
const knownDigits = 32;

/** The lookups in one table. */
export interface KnownQuestion {
  readonly table: string;
  readonly parameters: readonly [places: Buffer, tbs: Buffer, notAfter: Buffer];
}

/** Issuances that expire in a month without a table are in a shared one, until it has a table. @returns by table; computed before locks are taken */
export function knownQuestions(issuances: readonly Known[]): KnownQuestion[] {
  const byTable = Map.groupBy(issuances.keys(), (place) =>
    knownTable(issuances[place]?.notAfter ?? new Date(0)),
  );
  return [...byTable].map(([table, places]) => {
    const of = places.flatMap((place) => issuances[place] ?? []);
    return {
      table,
      parameters: [
        binaryArray('int4', places, (values, place) => values.integer(place)),
        binaryArray('uuid', of, (values, { tbsSha256 }) => values.hex(tbsSha256.slice(0, knownDigits))),
        binaryArray('timestamptz', of, (values, { notAfter }) => values.timestamp(notAfter)),
      ],
    };
  });
}

/**
 * Queries each month's table separately: the partitioned one takes three times as long, mostly to find the partition of each
 * row. One descent per issuance: a join might read the larger table from its beginning.
 *
 * @param tables existing tables; another one may have been created since, and have rows of the shared one
 * @returns positions of the known ones, by their index in the issuances
 */
export async function knownPositions(
  tx: Pick<EntityManager, 'query'>,
  questions: readonly KnownQuestion[],
  tables: ReadonlySet<string>,
): Promise<ReadonlyMap<number, number>> {
  const branches = questions.map(
    ({ table }, nth) => `
      SELECT place, found.position
      FROM unnest($${3 * nth + 1}::int4[], $${3 * nth + 2}::uuid[], $${3 * nth + 3}::timestamptz[]) AS given (place, tbs, not_after)
      CROSS JOIN LATERAL (
        SELECT position FROM ${tables.has(table) ? table : 'ct_known'} AS known
        WHERE known.tbs = given.tbs AND known.not_after = given.not_after LIMIT 1) AS found`,
  );
  const rows = await tx.query<{ place: number; position: string }[]>(
    branches.join(' UNION ALL '),
    questions.flatMap(({ parameters }) => parameters),
  );
  return new Map(rows.map(({ place, position }) => [place, Number(position)]));
}

export const knownTarget = 'ct_known (position, tbs, not_after)';

/** Bytes of a row in a COPY. */
const rowBytes = 46;

/**
 * Rows whose positions are set later, in the transaction that holds the sequencer and has looked them up: nothing else
 * prevents duplicate known issuances.
 */
export function knownRows(issuances: readonly Known[]): BinaryRows {
  const rows = new BinaryRows(3, issuances.length * rowBytes);
  for (const { tbsSha256, notAfter } of issuances) {
    rows.row();
    rows.bigint(0);
    rows.hex(tbsSha256.slice(0, knownDigits));
    rows.timestamp(notAfter);
  }
  return rows;
}
