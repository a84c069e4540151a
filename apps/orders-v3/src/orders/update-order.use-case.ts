import { RepeatableRequests, type WriteRequest } from '@certwright/idempotency';
import { Injectable } from '@nestjs/common';
import { type Answer, jsonAnswer } from '../wire/answer';
import { assertMatches, entityTag, type Precondition } from '../wire/entity-tag';
import type { OrderExpansion } from '../wire/expansion';
import { assertNoFaults } from './faults';
import { noSuchOrder } from '../wire/problems';
import { OrderChanges } from './order-changes';
import { OrderFactsReader, productOf } from './order-facts';
import { readOrderRequest } from './order-request';
import { draftModification } from './order-draft';
import { OrderViews } from './order-views';
import { OrdersRepository } from './orders.repository';

export interface Modification {
  readonly name: string;
  readonly body: unknown;
  readonly precondition: Precondition;
  readonly expansion: OrderExpansion;
}

@Injectable()
export class UpdateOrder {
  constructor(
    private readonly facts: OrderFactsReader,
    private readonly requests: RepeatableRequests,
    private readonly orders: OrdersRepository,
    private readonly changes: OrderChanges,
    private readonly views: OrderViews,
  ) {}

  /** @throws Problem `not_found`, `revision_mismatch`, `payment_required`, or `bad_request` with everything that is wrong */
  async run(write: WriteRequest, { name, body, precondition, expansion }: Modification): Promise<Answer> {
    const request = readOrderRequest(body);
    const facts = await this.facts.of(write.accountId, request);
    return await this.requests.run(write, async (tx) => {
      const before = await this.orders.lock(tx, write.accountId, name);
      if (before === null) throw noSuchOrder();
      assertMatches(precondition, before.revision);
      const { order, faults } = draftModification(before, request, facts);
      assertNoFaults(faults, request.unknownMembers);
      const stored = await this.changes.modify(tx, before, order, productOf(order, facts));
      return jsonAnswer(200, await this.views.showWithin(tx, stored, expansion), {
        etag: entityTag(stored.revision),
      });
    });
  }
}
