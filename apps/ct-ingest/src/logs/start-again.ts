import { leases } from '@certwright/postgres';
import type { DataSource, EntityManager } from 'typeorm';
import { hasUnverified, removeUnverified } from './unverified';

/** Why a log is not changed: it is not stopped; it is stopped; it is not listed; a process is following it. */
export type LeftAlone = 'not_stopped' | 'stopped' | 'disabled' | 'followed';

/** Rejects an operator's action on a log; nothing was changed. */
export class LogLeftAlone extends Error {
  constructor(readonly why: LeftAlone) {
    super(`the log was left as it is: ${why}`);
  }
}

const isFree = leases.isFree();

/** Clears the stop and makes the log due; the previous lease becomes invalid. */
const started = `stopped_at = NULL, stopped_reason = NULL, failures = 0, last_error = NULL, due_at = clock_timestamp(),
  ${leases.release}`;

/**
 * Resumes a stopped log from its position: its stored state must still be valid.
 *
 * @throws LogLeftAlone
 */
export async function resumeLog(database: DataSource, log: number): Promise<void> {
  const [, resumed] = await database.query<[unknown, number]>(
    `UPDATE ct_log SET ${started} WHERE id = $1 AND stopped_at IS NOT NULL AND ${isFree}`,
    [log],
  );
  if (resumed === 0) throw new LogLeftAlone('not_stopped');
}

/**
 * Makes a resting log due, whether it rests after failures or because of Retry-After.
 *
 * @returns remaining rest, ms; 0: it was already due
 * @throws LogLeftAlone
 */
export async function wakeLog(database: DataSource, log: number): Promise<number> {
  return await database.transaction(async (tx) => {
    const [found] = await tx.query<
      { enabled: boolean; isStopped: boolean; isFree: boolean; restMs: number }[]
    >(
      `SELECT enabled, stopped_at IS NOT NULL AS "isStopped", ${isFree} AS "isFree",
         greatest(0, extract(epoch FROM due_at - clock_timestamp()) * 1000)::float8 AS "restMs"
       FROM ct_log WHERE id = $1 FOR UPDATE`,
      [log],
    );
    if (found?.isStopped === true) throw new LogLeftAlone('stopped');
    if (found?.enabled !== true) throw new LogLeftAlone('disabled');
    if (!found.isFree) throw new LogLeftAlone('followed');
    await tx.query(
      `UPDATE ct_log SET due_at = least(due_at, clock_timestamp()), failures = 0 WHERE id = $1`,
      [log],
    );
    return found.restMs;
  });
}

/** Position of a log before it was restarted. */
export interface Forgotten {
  readonly startIndex: string;
  readonly position: string;
  readonly headSize: string;
  readonly headRoot: Buffer | null;
}

/**
 * Restarts a log: its tree and its newest head are deleted, as they have no relation to its later responses. Verified issuances stay,
 * and are recognised when they are read again; odd entries that are read again are deleted.
 *
 * @param from the first entry to read, at most the log's end
 * @throws LogLeftAlone while a process is following it
 */
export async function restartLog(database: DataSource, log: number, from: bigint): Promise<Forgotten> {
  const [before] = await database.query<{ position: string }[]>(`SELECT position FROM ct_log WHERE id = $1`, [
    log,
  ]);
  for (;;) {
    await removeUnverified(database, log);
    const forgotten = await database.transaction(async (tx) => await forget(tx, log, from));
    if (forgotten !== null) return { ...forgotten, position: before?.position ?? forgotten.position };
  }
}

/**
 * @returns null: a process followed the log until now, and has left unproved issuances: they are removed first, as their marks
 *   contain the tree that is to be deleted
 */
async function forget(tx: EntityManager, log: number, from: bigint): Promise<Forgotten | null> {
  const [forgotten] = await tx.query<Forgotten[]>(
    `SELECT start_index AS "startIndex", position, head_size AS "headSize", head_root AS "headRoot" FROM ct_log
     WHERE id = $1 AND ${isFree} FOR UPDATE`,
    [log],
  );
  if (forgotten === undefined) throw new LogLeftAlone('followed');
  if (await hasUnverified(tx, log)) return null;
  await tx.query(`DELETE FROM ct_odd_entry WHERE log = $1 AND entry_index >= $2`, [log, from]);
  await tx.query(
    `UPDATE ct_log SET ${started}, start_index = $2, position = $2, tree_state = $3, verified_size = 0, head_size = 0,
       head_root = NULL, head_at = NULL, head_signed = NULL, entry_at = NULL,
       entries_odd = (SELECT count(*) FROM ct_odd_entry WHERE log = $1)
     WHERE id = $1`,
    [log, from, from === 0n ? treeOfNothing : notBegun],
  );
  return forgotten;
}

/** A compact range's size, uint64, without hashes: marks the log as started, so that START does not apply. */
const treeOfNothing = Buffer.alloc(8);

/** The log starts at its position once the tree before it is known. */
const notBegun = Buffer.alloc(0);
