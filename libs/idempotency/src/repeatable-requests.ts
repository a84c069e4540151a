import { Injectable } from '@nestjs/common';
import { Transactions, type Tx } from '@certwright/core-schema';
import {
  type BodyFingerprint,
  type IdempotentRequest,
  IdempotencyRecords,
  plainFingerprint,
  type RepeatableAnswer,
} from './idempotency-records';

/** A write, and how to recognize it when it is repeated. */
export interface WriteRequest extends Pick<IdempotentRequest, 'accountId' | 'path'> {
  /** The `Idempotency-Key`; null: the caller does not ask for it. */
  readonly key: string | null;
  /** What was sent, in a form that is the same for the same meaning. */
  readonly body: string;
}

/** In which form a request and the body of its answer wait for the repetition of the request. */
export interface Keeping {
  readonly fingerprintOf: (body: string) => BodyFingerprint;
  readonly keep: (body: string) => string;
  readonly reveal: (kept: string) => string;
}

const asItIs: Keeping = {
  fingerprintOf: plainFingerprint,
  keep: (body) => body,
  reveal: (kept) => kept,
};

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
   * @param keeping for requests and answers that hold a secret
   * @throws Problem `idempotency_key_in_use`, `idempotency_key_reused`, and what `work` throws
   */
  async run(
    { key, body, ...request }: WriteRequest,
    work: (tx: Tx) => Promise<RepeatableAnswer>,
    { fingerprintOf, keep, reveal }: Keeping = asItIs,
  ): Promise<RepeatableAnswer> {
    return await this.transactions.run(async (tx) => {
      if (key === null) return await work(tx);
      const identified = { ...request, method: 'POST', key, fingerprint: fingerprintOf(body) };
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
