import { databaseErrorCode, databaseOutage } from '@certwright/errors';
import { isTracing } from '@certwright/tracing';
import { Batches } from './batches';
import { isSerializationFailure } from './database-error';
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
      // A conflict that remains may be of one item, and it rolled the transaction back.
      if (databaseOutage(error) !== undefined && !isSerializationFailure(error)) throw error;
      return null;
    }
  }
}

/**
 * Waits for statements that were sent one after the other without waiting for results. All have ended when it returns: none
 * runs after the end of their transaction.
 *
 * @throws the error of the first that failed by itself: it decides whether the transaction is repeated
 */
export async function together<T extends readonly unknown[]>(
  promises: readonly [...T],
): Promise<{ [K in keyof T]: Awaited<T[K]> }> {
  const settled = await Promise.allSettled(promises);
  const errors = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
  if (errors.length > 0) throw errors.find((error) => !isConsequence(error)) ?? errors[0];
  return settled.map((each) => (each as PromiseFulfilledResult<unknown>).value) as {
    [K in keyof T]: Awaited<T[K]>;
  };
}

const consequences: ReadonlySet<string | undefined> = new Set([
  '25P02', // in_failed_sql_transaction
  '26000', // invalid_sql_statement_name: of a statement that the failed transaction did not prepare
]);

/** Whether a statement failed because an earlier one of its transaction did. */
const isConsequence = (error: unknown): boolean => consequences.has(databaseErrorCode(error));
