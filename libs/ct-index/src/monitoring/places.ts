import type { EntityManager } from 'typeorm';
import type { PageReader } from '../page-reader';
import { endOfReading } from '../visible-end';
import { knownPositions, knownQuestions } from '../known-issuances';

type Reader = Pick<EntityManager, 'query'>;

export interface IndexRange {
  /** Position of the oldest stored issuance; null: there is none. */
  readonly first: string | null;
  /** Position of the next new issuance: all before it are visible, or were deleted. */
  readonly next: string;
}

export async function indexRange(reader: Pick<PageReader, 'query' | 'isSharded'>): Promise<IndexRange> {
  const end = await endOfReading(reader);
  const [row] = await reader.query<[IndexRange]>(
    `SELECT (SELECT position FROM ct_issuance ORDER BY position LIMIT 1) AS first, next FROM ct_sequence`,
  );
  return end < Number(row.next) ? { ...row, next: String(end) } : row;
}

/**
 * The TBS digests at positions, to detect that the database was restored: it gives the same positions to other issuances then.
 *
 * @returns by position; without those where nothing is stored
 */
export async function tbsSha256At(
  reader: Reader,
  positions: readonly string[],
): Promise<ReadonlyMap<string, Buffer>> {
  if (positions.length === 0) return new Map();
  const rows = await reader.query<{ position: string; tbsSha256: Buffer }[]>(
    `SELECT position, tbs_sha256 AS "tbsSha256" FROM ct_issuance WHERE position = ANY ($1::bigint[])`,
    [positions],
  );
  return new Map(rows.map(({ position, tbsSha256 }) => [position, tbsSha256]));
}

export interface SoughtCertificate {
  readonly tbsSha256: Buffer;
  readonly notAfter: Date;
}

/**
 * The positions of many certificates, whether their precertificate or certificate was logged.
 *
 * @returns in their order; null: not in the index
 */
export async function positionsOf(
  reader: Reader,
  certificates: readonly SoughtCertificate[],
): Promise<readonly (string | null)[]> {
  if (certificates.length === 0) return [];
  const questions = knownQuestions(
    certificates.map(({ tbsSha256, notAfter }) => ({ tbsSha256: tbsSha256.toString('hex'), notAfter })),
  );
  const tables = await reader.query<{ name: string }[]>(
    `SELECT relname::text AS name FROM pg_class WHERE relkind = 'r' AND relname = ANY ($1::name[])`,
    [questions.map(({ table }) => table)],
  );
  const known = await knownPositions(reader, questions, new Set(tables.map(({ name }) => name)));
  return certificates.map((_, nth) => {
    const position = known.get(nth);
    return position === undefined ? null : String(position);
  });
}
