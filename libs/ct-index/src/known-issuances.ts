import type { EntityManager } from 'typeorm';
import { BinaryRows } from '@certwright/ct-schema';
import { binaryArray } from '@certwright/ct-schema';
import type { NewIssuance } from './new-issuance';
import { knownTable, otherKnown } from './partitions';

type Known = Pick<NewIssuance, 'tbsSha256' | 'notAfter'>;

/** Of a TBS hash 16 bytes are kept: two of 10^10 issuances share them by a chance of 10^-19. */
const knownDigits = 32;

/** What is looked for in one table. */
export interface KnownQuestion {
  readonly table: string;
  readonly parameters: readonly [places: Buffer, tbs: Buffer, notAfter: Buffer];
}

/** Those that expire in a month that has no table stand in another one. @returns by table; made before others have to wait */
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
 * Asks each month's table by itself: the partitioned one as a whole takes three times as long, most of it to find out where each
 * row would be. A descent for each: joined as tables, the larger one would be read from its beginning.
 *
 * @param tables that there are
 * @returns positions of those that are known, by their places among the issuances
 */
export async function knownPositions(
  tx: EntityManager,
  questions: readonly KnownQuestion[],
  tables: ReadonlySet<string>,
): Promise<ReadonlyMap<number, number>> {
  const branches = questions.map(
    ({ table }, nth) => `
      SELECT place, found.position
      FROM unnest($${3 * nth + 1}::int4[], $${3 * nth + 2}::uuid[], $${3 * nth + 3}::timestamptz[]) AS given (place, tbs, not_after)
      CROSS JOIN LATERAL (
        SELECT position FROM ${tables.has(table) ? table : otherKnown} AS known
        WHERE known.tbs = given.tbs AND known.not_after = given.not_after LIMIT 1) AS found`,
  );
  const rows = await tx.query<{ place: number; position: string }[]>(
    branches.join(' UNION ALL '),
    questions.flatMap(({ parameters }) => parameters),
  );
  return new Map(rows.map(({ place, position }) => [place, Number(position)]));
}

export const knownTarget = 'ct_known (position, tbs, not_after)';

/** Of a row as it is copied. */
const rowBytes = 46;

/**
 * Rows whose positions are placed later, in the transaction that holds the sequencer and has looked for them: nothing else
 * keeps an issuance from being known twice.
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
