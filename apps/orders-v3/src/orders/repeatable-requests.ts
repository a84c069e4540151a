import { type IdempotentRequest, IdempotencyRecords, Transactions, type Tx } from '@certwright/persistence';
import { Injectable } from '@nestjs/common';
import type { Answer, JsonAnswer } from '../wire/answer';

/** A request that writes, and how it is told from others when it comes again. */
export interface WriteRequest extends Omit<IdempotentRequest, 'key' | 'method'> {
  /** The `Idempotency-Key`; null: the caller does not ask for it. */
  readonly key: string | null;
}

@Injectable()
export class RepeatableRequests {
  constructor(
    private readonly transactions: Transactions,
    private readonly records: IdempotencyRecords,
  ) {}

  /**
   * Runs `work` in one transaction. With a key, the answer is stored in the same one, and the request's repetition gets
   * it again; what `work` throws undoes everything and is not stored.
   *
   * @throws Problem `idempotency_key_in_use`, `idempotency_key_reused`, and what `work` throws
   */
  async run({ key, ...request }: WriteRequest, work: (tx: Tx) => Promise<JsonAnswer>): Promise<Answer> {
    return await this.transactions.run(async (tx) => {
      if (key === null) return await work(tx);
      const identified = { ...request, method: 'POST', key };
      const earlier = await this.records.begin(tx, identified);
      if (earlier !== null)
        return { ...earlier, headers: { ...earlier.headers, 'idempotency-replayed': 'true' } };
      const answer = await work(tx);
      await this.records.finish(tx, identified, answer);
      return answer;
    });
  }
}
