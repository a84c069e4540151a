import type { DataSource } from 'typeorm';

/** A migration waits this long for a lock on a table, ms: requests that need the table queue behind it for as long. */
export const lockTimeoutMs = 3_000;

/** Between two attempts, ms: the requests that queued run meanwhile. */
const pauseMs = 1_000;

/** Key of the session lock of a run (pg_advisory_lock, a bigint): "certwright" in ASCII, first eight bytes. */
const runLock = 0x63_65_72_74_77_72_69_67n;

/** lock_not_available, deadlock_detected (PostgreSQL, appendix A): a request that holds one table may wait for another one. */
const lockErrors: readonly unknown[] = ['55P03', '40P01'];

/**
 * Runs alone: another run on the same database waits until this one ends. The lock belongs to a connection of its own,
 * so that it does not depend on the transactions of the migrations, and it ends with the process.
 */
export async function alone<T>(database: DataSource, work: () => Promise<T>): Promise<T> {
  const holder = database.createQueryRunner();
  try {
    // No lock_timeout: the other run may take long.
    await holder.query(`SET lock_timeout = 0`);
    const [{ taken }] = (await holder.query(`SELECT pg_try_advisory_lock($1) AS taken`, [`${runLock}`])) as [
      { readonly taken: boolean },
    ];
    if (!taken) {
      console.log('Another migration runs on this database; waiting for its end.');
      await holder.query(`SELECT pg_advisory_lock($1)`, [`${runLock}`]);
    }
    return await work();
  } finally {
    await holder.query('SELECT pg_advisory_unlock_all()').catch(() => undefined);
    await holder.query('RESET lock_timeout').catch(() => undefined);
    await holder.release();
  }
}

/**
 * Repeats work that did not get a lock on a table, until it does or the time is over. What was committed before is not
 * repeated: each migration has a transaction of its own, and grants are compared with those that exist.
 *
 * @param waitMs in all, for locks
 * @throws Error that says what to do when the time is over
 */
export async function withTableLocks<T>(
  work: () => Promise<T>,
  waitMs: number,
  pause: (ms: number) => Promise<unknown>,
): Promise<T> {
  // Without the time of what was done: building an index may take longer than all waits.
  for (let waitedMs = 0; ; waitedMs += lockTimeoutMs + pauseMs) {
    try {
      return await work();
    } catch (error) {
      if (!lockErrors.includes((error as { readonly code?: unknown }).code)) throw error;
      if (waitedMs >= waitMs)
        throw new Error(
          `A table was locked by another transaction for ${Math.round(waitMs / 1_000)} s. See pg_stat_activity for transactions that ` +
            'run long, end them, and migrate again: what is done stays done. --wait-locks sets how long to wait.',
          { cause: error },
        );
      console.log('A table is locked by another transaction; trying again.');
      await pause(pauseMs);
    }
  }
}
