import { Problem } from '@certwright/errors';
import { isUniqueViolation } from '@certwright/core-schema';
import { RepeatableRequests, type WriteRequest } from '@certwright/idempotency';
import { Injectable } from '@nestjs/common';
import { Addresses } from '../wire/addresses';
import { type Answer, jsonAnswer } from '../wire/answer';
import { entityTag } from '../wire/entity-tag';
import type { OrderExpansion } from '../wire/expansion';
import { assertNoFaults } from './faults';
import { OrderChanges } from './order-changes';
import { OrderFactsReader, productOf } from './order-facts';
import { readOrderRequest } from './order-request';
import { draftOrder } from './order-draft';
import { OrderViews } from './order-views';

@Injectable()
export class CreateOrder {
  constructor(
    private readonly facts: OrderFactsReader,
    private readonly requests: RepeatableRequests,
    private readonly changes: OrderChanges,
    private readonly views: OrderViews,
    private readonly addresses: Addresses,
  ) {}

  /** @throws Problem `bad_request` with everything that is wrong; `already_exists`; `payment_required` */
  async run(write: WriteRequest, body: unknown, expansion: OrderExpansion): Promise<Answer> {
    const request = readOrderRequest(body);
    const facts = await this.facts.of(write.accountId, request);
    const { order, faults } = draftOrder(request, facts);
    try {
      return await this.requests.run(write, async (tx) => {
        assertNoFaults(faults, request.unknownMembers);
        const stored = await this.changes.create(tx, write.accountId, order, productOf(order, facts));
        return jsonAnswer(201, await this.views.showWithin(tx, stored, expansion), {
          location: this.addresses.order(stored.name),
          etag: entityTag(stored.revision),
        });
      });
    } catch (error) {
      if (!isUniqueViolation(error, 'order_v3_name')) throw error;
      throw new Problem('already_exists', 'The account has an order of this name already.', {
        field: 'name',
      });
    }
  }
}
