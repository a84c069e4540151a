import { type Reservation, ReservedRequests, type WriteRequest } from '@certwright/idempotency';
import { Transactions, type Tx } from '@certwright/core-schema';
import type { HttpResponse, JsonResponse } from '@certwright/service';
import { Inject, Injectable } from '@nestjs/common';
import { OrdersConfig } from '../config';
import { sealedFingerprint } from '../wire/sealed-records';

/** Longer than two messages to the gateway of 30 s each, and the transaction after them. */
const reservedMs = 120_000;

/** Work that waits for the gateway, and must not hold a transaction meanwhile. */
@Injectable()
export class ReservedWork {
  constructor(
    private readonly transactions: Transactions,
    private readonly requests: ReservedRequests,
    @Inject(OrdersConfig) private readonly config: Pick<OrdersConfig, 'SEALING_KEYS'>,
  ) {}

  /**
   * Does `work`, then stores its result. With a key, the response is stored in the same transaction, and the request's
   * repetition gets it again; what fails is not stored. A crash in between keeps the key for two minutes.
   *
   * @throws Problem `idempotency_key_in_use`, `idempotency_key_reused`, and what `work` and `store` throw
   */
  async run<T>(
    write: WriteRequest,
    work: () => Promise<T>,
    store: (tx: Tx, done: T) => Promise<JsonResponse>,
  ): Promise<HttpResponse> {
    const { accountId, path, key } = write;
    if (key === null) {
      const done = await work();
      return await this.transactions.run(async (tx) => await store(tx, done));
    }
    const fingerprint = sealedFingerprint(this.config.SEALING_KEYS, write);
    const request = { accountId, method: 'POST', path, key, fingerprint };
    const found = await this.requests.reserve(request, reservedMs);
    if ('answer' in found) {
      const { answer: response } = found;
      return { ...response, headers: { ...response.headers, 'idempotency-replayed': 'true' } };
    }
    try {
      const done = await work();
      return await this.transactions.run(async (tx) => {
        const response = await store(tx, done);
        await this.requests.settle(tx, found.reservation, response);
        return response;
      });
    } catch (error) {
      await this.giveUp(found.reservation);
      throw error;
    }
  }

  private async giveUp(reservation: Reservation): Promise<void> {
    try {
      await this.requests.giveUp(reservation);
    } catch {
      // Its time runs out; what went wrong before is what the caller has to know.
    }
  }
}
