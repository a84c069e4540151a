import { databaseOutage } from '@certwright/errors';
import { isTracing } from '@certwright/tracing';
import { Batches } from './batches';
import type { Transactions, Tx } from './transactions';

/** Max items in one transaction. */
const maxItems = 32;

/**
 * Max time for which one item holds up others, ms: a transaction that waits longer for a lock is rolled back, and each of
 * its items runs alone; what comes then does not wait for them.
 */
const maxHoldUpMs = 100;

/** Wrapped, so that a batch ends before the last of its items does. */
interface Begun<Result> {
  readonly result: Promise<Result>;
}

/**
 * Writes of one kind: those that begin in the same turn of the event loop, or while an earlier transaction runs, share a
 * transaction and its commit. One alone does not wait for others. When one of them fails, nothing of the transaction is
 * stored, and each runs alone; after an outage, all fail.
 */
export class JointWork<Item, Result> {
  private readonly batches = new Batches<Item, Begun<Result>>(
    maxItems,
    async (items) => await this.begin(items),
  );

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
    const { result } = await this.batches.add(item);
    return await result;
  }

  private async begin(items: readonly Item[]): Promise<readonly Begun<Result>[]> {
    const results = items.length > 1 ? await this.runTogether(items) : null;
    if (results !== null) return results.map((result) => ({ result: Promise.resolve(result) }));
    const runs = items.map(async (item) => await this.work.alone(item));
    let timer: NodeJS.Timeout | undefined;
    const holdUp = new Promise((resolve) => (timer = setTimeout(resolve, maxHoldUpMs)));
    await Promise.race([Promise.allSettled(runs), holdUp]);
    clearTimeout(timer);
    return runs.map((result) => ({ result }));
  }

  /** @returns null: one failed, and nothing is stored. @throws after an outage: the outcome is unknown */
  private async runTogether(items: readonly Item[]): Promise<readonly Result[] | null> {
    try {
      return await this.transactions.run(async (tx) => {
        const limited = tx.query<unknown>(`SET LOCAL lock_timeout = ${maxHoldUpMs}`);
        const works = items.map(async (item) => await this.work.inTransaction(tx, item));
        await together([limited, ...works]);
        return await Promise.all(works);
      });
    } catch (error) {
      if (databaseOutage(error) !== undefined) throw error;
      return null;
    }
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
