import { AsyncLocalStorage } from 'node:async_hooks';

/** Minimum time of a statement, ms, even when less is left: also for the ROLLBACK of a request whose time is over. */
const minLeftMs = 300;

/** How long one request may wait for the database in total. Waits of several statements at the same time count once. */
export class DatabaseTime {
  #spentMs = 0;
  #waits = 0;
  #sinceMs = 0;
  #places: Places | null = null;
  #placesHeld = 0;

  constructor(private readonly maxMs: number) {}

  get leftMs(): number {
    const runningMs = this.#waits > 0 ? performance.now() - this.#sinceMs : 0;
    return Math.max(minLeftMs, this.maxMs - this.#spentMs - runningMs);
  }

  /** Starts counting. @returns stops it; further calls do nothing */
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

  /** From now on the request needs a place for its connection. */
  takePlacesOf(places: Places): void {
    this.#places = places;
  }

  /**
   * @param granted called at once for a request without places, and for one that has a place already: waiting for
   *   another one might be a deadlock
   */
  takePlace(granted: (giveBack: () => void) => void): void {
    if (this.#places === null || this.#placesHeld > 0) return granted(() => undefined);
    this.#places.take((giveBack) => {
      this.#placesHeld += 1;
      let isHeld = true;
      granted(() => {
        if (isHeld) this.#placesHeld -= 1;
        isHeld = false;
        giveBack();
      });
    });
  }
}

/** A limited number of connections. */
export interface Places {
  /** @param granted called with a release function once there is a place */
  take(granted: (giveBack: () => void) => void): void;
}

const current = new AsyncLocalStorage<DatabaseTime | null>();

/**
 * Maximum total time that everything `work` starts may wait for the database: for a connection, and for the results
 * of its statements. Then the current statement is canceled and fails as when the database is unavailable.
 */
export function withinDatabaseTime<T>(maxMs: number, work: () => T): T {
  return current.run(new DatabaseTime(maxMs), work);
}

/** For work that a request starts on behalf of others, and that outlives it. */
export function withoutDatabaseTime<T>(work: () => T): T {
  return current.run(null, work);
}

/**
 * Waits for a read that other requests share no longer than the current request may; the read goes on.
 *
 * @throws as when the database is unavailable
 */
export async function inOwnTime<T>(read: Promise<T>): Promise<T> {
  const time = currentDatabaseTime();
  if (time === null) return await read;
  const endWait = time.wait();
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('timeout exceeded when trying to connect')), time.leftMs);
  });
  try {
    return await Promise.race([read, over]);
  } finally {
    clearTimeout(timer);
    endWait();
  }
}

export function currentDatabaseTime(): DatabaseTime | null {
  return current.getStore() ?? null;
}
