import { AsyncLocalStorage } from 'node:async_hooks';

/** However little time is left, a statement gets this long, ms: also the ROLLBACK of a request whose time is over. */
const minLeftMs = 300;

/** How long one request may wait for the database in total. Waits of several statements at the same time count once. */
export class DatabaseTime {
  #spentMs = 0;
  #waits = 0;
  #sinceMs = 0;

  constructor(private readonly maxMs: number) {}

  get leftMs(): number {
    const runningMs = this.#waits > 0 ? performance.now() - this.#sinceMs : 0;
    return Math.max(minLeftMs, this.maxMs - this.#spentMs - runningMs);
  }

  /** Counts from now on. @returns ends it; further calls do nothing */
  wait(): () => void {
    if (this.#waits === 0) this.#sinceMs = performance.now();
    this.#waits += 1;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#waits -= 1;
      if (this.#waits === 0) this.#spentMs += performance.now() - this.#sinceMs;
    };
  }
}

const current = new AsyncLocalStorage<DatabaseTime | null>();

/**
 * Everything that `work` starts may wait for the database this long in total: for a connection, and for the answers to
 * its statements. Then the statement under way is canceled and fails as when the database is unavailable.
 */
export function withinDatabaseTime<T>(maxMs: number, work: () => T): T {
  return current.run(new DatabaseTime(maxMs), work);
}

/** For work that a request starts on behalf of others, and that outlives it. */
export function withoutDatabaseTime<T>(work: () => T): T {
  return current.run(null, work);
}

export function currentDatabaseTime(): DatabaseTime | null {
  return current.getStore() ?? null;
}
