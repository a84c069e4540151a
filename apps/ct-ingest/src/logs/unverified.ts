import { leases } from '@certwright/postgres';
import type { DataSource, EntityManager } from 'typeorm';
import type { StoredPlaces } from '@certwright/ct-index';

type Queries = Pick<EntityManager, 'query'>;

/** Position of a log. */
export interface LogPlace {
  readonly log: number;
  /** Next entry to ingest. */
  readonly position: bigint;
  /** Compact range over [0, position). */
  readonly treeState: Uint8Array;
}

/**
 * Marks the entries ingested from logs that refuse proofs, until they are verified: one row per batch, with the log's previous state, so
 * that it can be rolled back. Entries that another log has, too, are vouched for, and stay.
 */
export class UnverifiedMarks {
  private isThere = false;

  /** The log's state, for `mark`; null: the newest migration has not run. */
  async placeOf(tx: Queries, log: number): Promise<LogPlace | null> {
    if (!(await this.areThere(tx))) return null;
    const [row] = await tx.query<{ position: string; tree: Buffer }[]>(
      `SELECT position, tree_state AS tree FROM ct_log WHERE id = $1 FOR UPDATE`,
      [log],
    );
    return row === undefined ? null : { log, position: BigInt(row.position), treeState: row.tree };
  }

  /** In the transaction that ingests a batch without a proof. @param before the log's previous state */
  async mark(
    tx: Queries,
    { log, position, treeState }: LogPlace,
    { from, to, known }: StoredPlaces,
  ): Promise<void> {
    await tx.query(
      `INSERT INTO ct_unverified (log, from_entry, tree_state, from_position, to_position) VALUES ($1, $2, $3, $4, $5)`,
      [log, position, Buffer.from(treeState), from, to],
    );
    await vouch(tx, log, known);
  }

  /** In the transaction that ingests a batch with a proof, which also proves all earlier batches. */
  async settle(tx: Queries, log: number, { known }: StoredPlaces): Promise<void> {
    if (!(await this.areThere(tx))) return;
    await tx.query(
      `WITH settled AS (DELETE FROM ct_unverified WHERE log = $1 RETURNING from_position, to_position)
       DELETE FROM ct_vouched USING settled WHERE position >= from_position AND position < to_position`,
      [log],
    );
    await vouch(tx, log, known);
  }

  private async areThere(tx: Queries): Promise<boolean> {
    return (this.isThere ||= await areMarksThere(tx));
  }
}

/** This log has issuances that are known from logs that have not proved them. */
async function vouch(tx: Queries, log: number, known: readonly number[]): Promise<void> {
  if (known.length === 0) return;
  await tx.query(
    `INSERT INTO ct_vouched (position)
     SELECT DISTINCT known.position FROM ct_unverified JOIN unnest($2::bigint[]) AS known (position)
       ON known.position >= from_position AND known.position < to_position
     WHERE log <> $1 ON CONFLICT DO NOTHING`,
    [log, known],
  );
}

/**
 * Removes unproved issuances that only stopped logs have, and rolls each log back to its last verified position. Each batch, newest
 * first, has its own transaction: the removal can be interrupted. Positions are never reused, so every cursor stays valid; postings of
 * removed issuances have no target, and are deleted with their partition.
 *
 * @param log this one, stopped or not; absent: all stopped logs
 * @returns number of removed issuances
 */
export async function removeUnverified(database: DataSource, log?: number): Promise<number> {
  if (!(await areMarksThere(database))) return 0;
  let sum = 0;
  for (;;) {
    const removed = await database.transaction(async (tx) => await removeNewest(tx, log ?? null));
    if (removed === null) return sum;
    sum += removed;
  }
}

/** Whether a log has entries that are not verified. */
export async function hasUnverified(database: Queries, log: number): Promise<boolean> {
  if (!(await areMarksThere(database))) return false;
  return (
    (await database.query<unknown[]>(`SELECT FROM ct_unverified WHERE log = $1 LIMIT 1`, [log])).length > 0
  );
}

/** The newest migration has run. */
async function areMarksThere(database: Queries): Promise<boolean> {
  const [{ there }] = await database.query<[{ there: boolean }]>(
    `SELECT to_regclass('ct_unverified') IS NOT NULL AS there`,
  );
  return there;
}

interface Removed {
  readonly position: string;
  /** As in `ct_known`. */
  readonly tbs: string;
  readonly notAfter: Date;
}

/** @returns null: there is nothing to remove */
async function removeNewest(tx: EntityManager, log: number | null): Promise<number | null> {
  // Locks the log before the sequencer, in the same order as ingestion.
  const [batch] = await tx.query<{ log: number; entry: string; tree: Buffer; from: string; to: string }[]>(
    `SELECT log, from_entry AS entry, batch.tree_state AS tree, from_position AS from, to_position AS to
     FROM ct_unverified AS batch JOIN ct_log ON ct_log.id = log
     WHERE (log = $1::int OR ($1::int IS NULL AND stopped_at IS NOT NULL))
       AND ${leases.isFree()}
     ORDER BY log, from_entry DESC LIMIT 1 FOR UPDATE OF ct_log`,
    [log],
  );
  if (batch === undefined) return null;
  // Another process may have removed it, and earlier ones, while this one waited for the log.
  const [, found] = await tx.query<[unknown, number]>(
    `DELETE FROM ct_unverified WHERE log = $1 AND from_entry = $2`,
    [batch.log, batch.entry],
  );
  if (found === 0) return 0;
  await tx.query(`SELECT FROM ct_sequence FOR UPDATE`);
  const vouched = await tx.query<{ position: string }[]>(
    `SELECT position FROM ct_vouched WHERE position >= $1 AND position < $2`,
    [batch.from, batch.to],
  );
  // One statement for both tables would be rejected by Citus, which may have them on several servers.
  const [gone, removed] = await tx.query<[Removed[], number]>(
    `DELETE FROM ct_issuance WHERE position >= $1 AND position < $2 AND position <> ALL ($3::bigint[])
     RETURNING position, encode(substring(tbs_sha256 from 1 for 16), 'hex') AS tbs, not_after AS "notAfter"`,
    [batch.from, batch.to, vouched.map(({ position }) => position)],
  );
  await tx.query(
    `DELETE FROM ct_known USING unnest($1::bigint[], $2::uuid[], $3::timestamptz[]) AS gone (position, tbs, not_after)
     WHERE ct_known.tbs = gone.tbs AND ct_known.not_after = gone.not_after AND ct_known.position = gone.position`,
    [gone.map(({ position }) => position), gone.map(({ tbs }) => tbs), gone.map(({ notAfter }) => notAfter)],
  );
  await tx.query(`DELETE FROM ct_vouched WHERE position >= $1 AND position < $2`, [batch.from, batch.to]);
  await tx.query(`DELETE FROM ct_odd_entry WHERE log = $1 AND entry_index >= $2`, [batch.log, batch.entry]);
  await tx.query(
    `UPDATE ct_log SET position = $2, tree_state = $3,
       entries_odd = (SELECT count(*) FROM ct_odd_entry WHERE log = $1) WHERE id = $1`,
    [batch.log, batch.entry, batch.tree],
  );
  return removed;
}
