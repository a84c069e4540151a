import type { DataSource, EntityManager } from 'typeorm';
import { isUndefinedTable } from '@certwright/ct-schema';
import { CtLogEvidenceEntity, type EvidenceKind } from '@certwright/ct-schema';
import type { LogLease, SignedHead } from './ct-logs';

/** A signed head of a log, and what it contradicts. */
export interface LogEvidence {
  readonly head: SignedHead;
  /** The head that was kept then, as fetched; null: there was none. */
  readonly keptSigned: Uint8Array | null;
  /** Root of the entries that the log returned; null: the heads alone contradict each other. */
  readonly computed: { readonly size: bigint; readonly root: Uint8Array } | null;
  /** As the log returned it; null: there was none. */
  readonly proof: readonly Uint8Array[] | null;
}

/**
 * Max contradictions of one log, and max heads that it has not proved: a log must not fill the database, and heads that it never
 * proves take no place from contradictions. The first ones stay.
 */
const maxPerLog = 100;

/** Interval between requests to prove a head. */
const triedAgainAfterS = 60;

/** Each unproven head once, and each different contradiction: heads and computed roots that were not stored together before. */
export async function insertEvidence(
  database: Pick<EntityManager, 'query'>,
  { log }: LogLease,
  kind: EvidenceKind,
  problem: string,
  { head, keptSigned, computed, proof }: LogEvidence,
): Promise<boolean> {
  const rows = await database.query<unknown[]>(
    `INSERT INTO ct_log_evidence (log, kind, problem, url, head_size, head_root, head_at, head_signed, kept_signed, computed_size,
       computed_root, proof)
     SELECT id, $2::text, $3, url, $4::bigint, $5::bytea, $6::timestamptz, $7::bytea, $8::bytea, $9::bigint, $10::bytea, $11::bytea[]
     FROM ct_log WHERE id = $1
       AND NOT EXISTS (
         SELECT FROM ct_log_evidence AS known
         WHERE known.log = ct_log.id AND known.kind = $2 AND head_size = $4 AND head_root = $5
           AND ($2 = 'unproven' OR (head_at, kept_signed, computed_size, computed_root) IS NOT DISTINCT FROM ($6, $8, $9, $10)))
       AND (SELECT count(*) FROM ct_log_evidence AS known
         WHERE known.log = ct_log.id AND (known.kind = 'unproven') = ($2 = 'unproven')) < $12::int
     RETURNING id`,
    [
      log,
      kind,
      problem,
      head.size,
      Buffer.from(head.root),
      head.at,
      Buffer.from(head.signed),
      keptSigned === null ? null : Buffer.from(keptSigned),
      computed?.size ?? null,
      computed === null ? null : Buffer.from(computed.root),
      proof?.map((hash) => Buffer.from(hash)) ?? null,
      maxPerLog,
    ],
  );
  return rows.length > 0;
}

/** All evidence of one log, or of every log, oldest first. */
export async function evidenceOf(
  database: DataSource,
  log?: number,
): Promise<readonly CtLogEvidenceEntity[]> {
  const where = log === undefined ? {} : { log };
  const rows = database.getRepository(CtLogEvidenceEntity).find({ where, order: { id: 'ASC' } });
  return await withoutTable(rows, []);
}

/** The unproven head of a log, up to this size, whose last attempt was longest ago; null: none, or all were tried recently. */
export async function unprovenHead(
  database: DataSource,
  log: number,
  maxSize: bigint,
): Promise<CtLogEvidenceEntity | null> {
  const rows = database.query<[{ id: string }[], number]>(
    `UPDATE ct_log_evidence SET tried_at = clock_timestamp() WHERE id = (
       SELECT id FROM ct_log_evidence
       WHERE log = $1 AND kind = 'unproven' AND head_size <= $2
         AND tried_at < clock_timestamp() - interval '${triedAgainAfterS} seconds'
       ORDER BY tried_at LIMIT 1) RETURNING id`,
    [log, maxSize],
  );
  const [[row]] = await withoutTable(rows, [[], 0]);
  return row === undefined
    ? null
    : await database.getRepository(CtLogEvidenceEntity).findOneBy({ id: row.id });
}

/** The head was proved later. */
export async function dropEvidence(database: DataSource, id: string): Promise<void> {
  await database.query(`DELETE FROM ct_log_evidence WHERE id = $1 AND kind = 'unproven'`, [id]);
}

/** The head was proved to be of another history: it is evidence of that now, and is not examined again. */
export async function dropContradicted(
  database: Pick<EntityManager, 'query'>,
  { log }: LogLease,
  { size, root }: SignedHead,
): Promise<void> {
  await database.query(
    `DELETE FROM ct_log_evidence WHERE log = $1 AND kind = 'unproven' AND head_size = $2 AND head_root = $3`,
    [log, size, Buffer.from(root)],
  );
}

/** Until the newest migration has run, there is no evidence. */
export async function withoutTable<T>(work: Promise<T>, none: T): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (isUndefinedTable(error)) return none;
    throw error;
  }
}
