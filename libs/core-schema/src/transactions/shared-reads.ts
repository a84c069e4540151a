import { databaseOutage } from '@certwright/errors';
import { startDatabaseWork, withoutSpan } from '@certwright/tracing';
import {
  currentDatabaseTime,
  type DatabaseTime,
  withinDatabaseTime,
  withoutDatabaseTime,
} from './database-time';

/** One statement of a kind runs at a time, for all that wait; another one only while it takes longer than this, ms. */
const patienceMs = 5;

/** Statements of one kind at a time, when all of them are slow: reads from disk wait in parallel. */
const maxRunning = 4;

/** In one statement; PostgreSQL looks them up one after the other, some ten microseconds each. */
const maxKeys = 64;

interface Waiting<Key, Found> {
  readonly key: Key;
  /** Of the request; null: it may wait as long as the database takes. */
  readonly time: DatabaseTime | null;
  readonly resolve: (found: Found) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Reads of one kind for concurrent requests: those that begin in the same turn of the event loop share a statement, and so
 * do those that wait while another one runs. The round trip is most of what such a read costs. Each statement begins after
 * the requests that it reads for.
 *
 * @param readAll what is found for each key, in the order of the keys; its only effects are reads
 */
export class SharedReads<Key, Found> {
  #waiting: Waiting<Key, Found>[] = [];
  #running = 0;
  #turn: NodeJS.Immediate | undefined;
  #patience: NodeJS.Timeout | undefined;

  constructor(private readonly readAll: (keys: readonly Key[]) => Promise<readonly Found[]>) {}

  /** Waits no longer than the database time of the request allows. */
  async read(key: Key): Promise<Found> {
    const time = currentDatabaseTime();
    const [endWait, endWork] = [time?.wait(), startDatabaseWork()];
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise((resolve, reject) => {
        const waiting = { key, time, resolve, reject };
        this.#waiting.push(waiting);
        if (time !== null) timer = setTimeout(() => this.#giveUp(waiting), time.leftMs);
        this.#schedule();
      });
    } finally {
      clearTimeout(timer);
      endWait?.();
      endWork();
    }
  }

  #giveUp(waiting: Waiting<Key, Found>): void {
    this.#waiting = this.#waiting.filter((each) => each !== waiting);
    waiting.reject(new Error('timeout exceeded when trying to connect'));
  }

  #schedule(): void {
    if (this.#waiting.length === 0 || this.#running >= maxRunning) return;
    if (this.#running === 0) this.#turn ??= setImmediate(() => this.#begin());
    else this.#patience ??= setTimeout(() => this.#begin(), patienceMs);
  }

  #begin(): void {
    clearImmediate(this.#turn);
    clearTimeout(this.#patience);
    [this.#turn, this.#patience] = [undefined, undefined];
    const batch = this.#waiting.splice(0, maxKeys);
    if (batch.length === 0) return;
    this.#running += 1;
    void this.#readFor(batch).finally(() => {
      this.#running -= 1;
      this.#schedule();
    });
    this.#schedule();
  }

  async #readFor(batch: readonly Waiting<Key, Found>[]): Promise<void> {
    const keys = batch.map(({ key }) => key);
    try {
      const found = await withoutSpan(() => withinTimeOf(batch, () => this.readAll(keys)));
      if (found.length !== keys.length) throw new Error(`${found.length} results for ${keys.length} keys`);
      batch.forEach(({ resolve }, at) => resolve(found[at] as Found));
    } catch (error) {
      // An error of one read does not affect the others.
      if (batch.length > 1 && databaseOutage(error) === undefined)
        await Promise.all(batch.map((each) => this.#readFor([each])));
      else for (const { reject } of batch) reject(error);
    }
  }
}

/** As long as the one that may wait longest. */
function withinTimeOf<T>(batch: readonly Pick<Waiting<unknown, unknown>, 'time'>[], work: () => T): T {
  const limits = batch.flatMap(({ time }) => (time === null ? [] : [time.leftMs]));
  return limits.length < batch.length
    ? withoutDatabaseTime(work)
    : withinDatabaseTime(Math.max(...limits), work);
}

/**
 * SQL: the keys of a statement, whose parameters are one array for each column, as rows with their number. The sub-selects
 * hide the number of keys from the planner, which otherwise plans each execution again: few keys look cheaper than the number
 * that it assumes for a plan of any.
 *
 * @param types of the columns
 */
export const keysOf = (...types: readonly string[]): string =>
  `unnest(${types.map((type, at) => `(SELECT $${at + 1}::${type}[])`).join(', ')}) WITH ORDINALITY`;

/**
 * Puts the rows of a statement over `keysOf` into the order of its keys.
 *
 * @param rows at most one for each key; `nth` begins at 1
 * @returns without `nth`; null where there is no row
 */
export function inOrderOf<Row extends object>(
  keys: readonly unknown[],
  rows: readonly (Row & { readonly nth: number })[],
): (Row | null)[] {
  const found = new Array<Row | null>(keys.length).fill(null);
  for (const { nth, ...row } of rows) found[nth - 1] = row as unknown as Row;
  return found;
}
