import { Injectable } from '@nestjs/common';
import { Transactions, type Tx } from '@certwright/core-schema';
import { type IdempotentRequest, IdempotencyRecords, type RepeatableAnswer } from './idempotency-records';

/** A write, and how to recognize it when it is repeated. */
export interface WriteRequest extends Omit<IdempotentRequest, 'key' | 'method'> {
  /** The `Idempotency-Key`; null: the caller does not ask for it. */
  readonly key: string | null;
}

/** In which form the body of an answer waits for the repetition of its request. */
export interface Keeping {
  readonly keep: (body: string) => string;
  readonly reveal: (kept: string) => string;
}

const asItIs: Keeping = { keep: (body) => body, reveal: (kept) => kept };

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
   * @param keeping for answers that hold a secret
   * @throws Problem `idempotency_key_in_use`, `idempotency_key_reused`, and what `work` throws
   */
  async run(
    { key, ...request }: WriteRequest,
    work: (tx: Tx) => Promise<RepeatableAnswer>,
    { keep, reveal }: Keeping = asItIs,
  ): Promise<RepeatableAnswer> {
    return await this.transactions.run(async (tx) => {
      if (key === null) return await work(tx);
      const identified = { ...request, method: 'POST', key };
      const earlier = await this.records.begin(tx, identified);
      if (earlier !== null) return replayed(earlier, reveal);
      const answer = await work(tx);
      await this.records.finish(tx, identified, { ...answer, body: keep(answer.body) });
      return answer;
    });
  }
}

function replayed({ status, headers, body }: RepeatableAnswer, reveal: Keeping['reveal']): RepeatableAnswer {
  return { status, headers: { ...headers, 'idempotency-replayed': 'true' }, body: reveal(body) };
}
