import { setTimeout as delay } from 'node:timers/promises';
import { isDatabaseUnreachable } from '@certwright/errors';

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

/** Repeats `work` while the database cannot be reached. @throws what `work` throws last */
async function repeatDuringOutage(
  work: () => Promise<unknown>,
  { forMs, signal, everyMs = 250 }: ReleaseOptions,
): Promise<void> {
  const endsAtMs = performance.now() + forMs;
  for (;;) {
    try {
      return void (await work());
    } catch (error) {
      const isOver = performance.now() >= endsAtMs || signal?.aborted === true;
      if (isOver || !isDatabaseUnreachable(error)) throw error;
    }
    // Nothing else waits for it: a process that stops is not kept.
    await delay(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
}
