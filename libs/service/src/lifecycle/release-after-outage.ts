import { setTimeout as delay } from 'node:timers/promises';
import { databaseOutage, isDatabaseUnreachable } from '@certwright/errors';

export interface ReleaseOptions {
  /** How long the database is waited for, ms: as long as the lease lasts. */
  readonly forMs: number;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
  /** Between two attempts, ms. Default: 250. */
  readonly everyMs?: number;
}

/**
 * Gives a lease back once the database is back that was lost under it; does nothing after other errors. Otherwise the row
 * would stay with a process that lives and does nothing with it, longer than the outage. Does not wait, and does not
 * throw: where it does not succeed, the lease runs out by itself.
 *
 * @param error what ended the work
 * @returns settles when it is given back, or will not be
 */
export function releaseAfterOutage(
  error: unknown,
  release: () => Promise<unknown>,
  options: ReleaseOptions,
): Promise<void> {
  if (!isDatabaseUnreachable(error)) return Promise.resolve();
  return repeatDuringOutage(release, options).then(
    () => undefined,
    () => undefined,
  );
}

/**
 * Repeats `work` while the database cannot be reached, or is too busy, as with a full disk: for what must be stored although it
 * happened already. `work` may have been committed when it failed.
 *
 * @throws what `work` throws last
 */
export async function repeatDuringOutage<T>(
  work: () => Promise<T>,
  { forMs, signal, everyMs = 250 }: ReleaseOptions,
): Promise<T> {
  const endsAtMs = performance.now() + forMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const isOver = performance.now() >= endsAtMs || signal?.aborted === true;
      if (isOver || databaseOutage(error) === undefined) throw error;
    }
    // Nothing else waits for it: a process that stops is not kept.
    await delay(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
}
