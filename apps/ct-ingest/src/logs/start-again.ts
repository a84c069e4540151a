import { leases } from '@certwright/postgres';
import type { DataSource } from 'typeorm';
import { removeUnverified } from './unverified';

/** Why a log is left as it is: it is not stopped; it is stopped; no list names it; a process follows it at the moment. */
export type LeftAlone = 'not_stopped' | 'stopped' | 'disabled' | 'followed';

/** What an operator may not do to a log; nothing was changed. */
export class LogLeftAlone extends Error {
  constructor(readonly why: LeftAlone) {
    super(`the log was left as it is: ${why}`);
  }
}

const isFree = leases.isFree();

/** Nothing of the stop is left, and the log is due; nobody holds it who held it before. */
const started = `stopped_at = NULL, stopped_reason = NULL, failures = 0, last_error = NULL, due_at = clock_timestamp(),
  ${leases.release}`;

/**
 * Tries a stopped log again from where it stands: what was kept of it must still hold.
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
 * Makes a log due that rests, for whatever reason: after failures, or for as long as it asked for by Retry-After.
 *
 * @returns how long it would have rested, ms; 0: it was due already
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

/** How far a log was followed before it began anew. */
export interface Forgotten {
  readonly startIndex: string;
  readonly position: string;
  readonly headSize: string;
  readonly headRoot: Buffer | null;
}

/**
 * Begins a log anew: its tree and its newest head are forgotten, as nothing ties them to what it says from now on. Verified issuances stay,
 * and are recognised when they are read again; odd entries that are read again are forgotten.
 *
 * @param from the first entry that is read; one beyond the log's end is its end
 * @throws LogLeftAlone while a process follows it
 */
export async function restartLog(database: DataSource, log: number, from: bigint): Promise<Forgotten> {
  const [before] = await database.query<{ position: string }[]>(`SELECT position FROM ct_log WHERE id = $1`, [
    log,
  ]);
  await removeUnverified(database, log);
  return await database.transaction(async (tx) => {
    const [forgotten] = await tx.query<Forgotten[]>(
      `SELECT start_index AS "startIndex", position, head_size AS "headSize", head_root AS "headRoot" FROM ct_log
       WHERE id = $1 AND ${isFree} FOR UPDATE`,
      [log],
    );
    if (forgotten === undefined) throw new LogLeftAlone('followed');
    await tx.query(`DELETE FROM ct_odd_entry WHERE log = $1 AND entry_index >= $2`, [log, from]);
    await tx.query(
      `UPDATE ct_log SET ${started}, start_index = $2, position = $2, tree_state = $3, verified_size = 0, head_size = 0,
         head_root = NULL, head_at = NULL, head_signed = NULL, entry_at = NULL,
         entries_odd = (SELECT count(*) FROM ct_odd_entry WHERE log = $1)
       WHERE id = $1`,
      [log, from, from === 0n ? treeOfNothing : notBegun],
    );
    return { ...forgotten, position: before?.position ?? forgotten.position };
  });
}

/** The size of the compact range, uint64, and no hashes: with this the log has begun, whatever START says. */
const treeOfNothing = Buffer.alloc(8);

/** It begins at its position once the tree before that is known. */
const notBegun = Buffer.alloc(0);
