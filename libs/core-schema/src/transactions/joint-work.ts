import { isTracing } from '@certwright/tracing';
import type { Transactions, Tx } from './transactions';

/** Max items in one transaction. */
const maxItems = 32;

/** Max time that the items of a transaction wait for a lock of somebody else, ms: then each runs alone. */
const maxLockWaitMs = 100;

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs what waits at the same time in one transaction, with one commit. An item runs at once when none is running; those
 * that come meanwhile run together next. When one of them fails, nothing is stored, and each runs alone.
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
      if (!this.isRunning) void this.runWaiting();
    });
  }

  private async runWaiting(): Promise<void> {
    this.isRunning = true;
    while (this.waiting.length > 0) {
      const taken = this.waiting.splice(0, maxItems);
      const results = taken.length > 1 ? await this.runTogether(taken.map(({ item }) => item)) : null;
      if (results === null) await this.runEachAlone(taken);
      else taken.forEach(({ resolve }, index) => resolve(results[index] as Result));
    }
    this.isRunning = false;
  }

  /** @returns null: nothing was stored */
  private async runTogether(items: readonly Item[]): Promise<readonly Result[] | null> {
    try {
      return await this.transactions.run(async (tx) => {
        const limited = tx.query<unknown>(`SET LOCAL lock_timeout = ${maxLockWaitMs}`);
        const results = items.map(async (item) => await this.work.inTransaction(tx, item));
        await together([limited, ...results]);
        return await Promise.all(results);
      });
    } catch {
      return null;
    }
  }

  private async runEachAlone(taken: readonly Waiting<Item, Result>[]): Promise<void> {
    const runs = taken.map(async ({ item, resolve, reject }) => {
      await this.work.alone(item).then(resolve, reject);
    });
    await Promise.all(runs);
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
