import { databaseOutage } from '@certwright/errors';
import { isTracing } from '@certwright/tracing';
import type { Transactions, Tx } from './transactions';

/** Max items in one transaction. */
const maxItems = 32;

/**
 * Max time for which one item holds up others, ms: a transaction that waits longer for a lock is rolled back, and each of
 * its items runs alone; what comes then does not wait for them.
 */
const maxHoldUpMs = 100;

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Writes of one kind: those that begin in the same turn of the event loop, or while an earlier transaction runs, share a
 * transaction and its commit. One alone does not wait for others. When one of them fails, nothing of the transaction is
 * stored, and each runs alone; after an outage, all fail.
 */
export class JointWork<Item, Result> {
  private waiting: Waiting<Item, Result>[] = [];
  private isRunning = false;

  constructor(
    private readonly transactions: Pick<Transactions, 'run'>,
    private readonly work: {
      readonly alone: (item: Item) => Promise<Result>;
      /** Its only effects are through `tx`. */
      readonly inTransaction: (tx: Tx, item: Item) => Promise<Result>;
    },
  ) {}

  async run(item: Item): Promise<Result> {
    // Rows get the trace of the transaction that inserts them.
    if (isTracing()) return await this.work.alone(item);
    return await new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      if (!this.isRunning) setImmediate(() => void this.runWaiting());
      this.isRunning = true;
    });
  }

  private async runWaiting(): Promise<void> {
    while (this.waiting.length > 0) {
      const taken = this.waiting.splice(0, maxItems);
      if (taken.length > 1) await this.runTogether(taken);
      else await this.runEachAlone(taken);
    }
    this.isRunning = false;
  }

  private async runTogether(taken: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.transactions.run(async (tx) => {
        const limited = tx.query<unknown>(`SET LOCAL lock_timeout = ${maxHoldUpMs}`);
        const works = taken.map(async ({ item }) => await this.work.inTransaction(tx, item));
        await together([limited, ...works]);
        return await Promise.all(works);
      });
      taken.forEach(({ resolve }, index) => resolve(results[index] as Result));
    } catch (error) {
      // The outcome of the transaction is unknown.
      if (databaseOutage(error) !== undefined) taken.forEach(({ reject }) => reject(error));
      else await this.runEachAlone(taken);
    }
  }

  private async runEachAlone(taken: readonly Waiting<Item, Result>[]): Promise<void> {
    const runs = taken.map(async ({ item, resolve, reject }) => {
      await this.work.alone(item).then(resolve, reject);
    });
    let timer: NodeJS.Timeout | undefined;
    const holdUp = new Promise((resolve) => (timer = setTimeout(resolve, maxHoldUpMs)));
    await Promise.race([Promise.all(runs), holdUp]);
    clearTimeout(timer);
  }
}

/**
 * Waits for statements that were sent one after the other without waiting for results. All have ended when it returns: none
 * runs after the end of their transaction.
 */
export async function together<T extends readonly unknown[]>(
  promises: readonly [...T],
): Promise<{ [K in keyof T]: Awaited<T[K]> }> {
  const settled = await Promise.allSettled(promises);
  return settled.map((each) => {
    if (each.status === 'rejected') throw each.reason;
    return each.value;
  }) as { [K in keyof T]: Awaited<T[K]> };
}
