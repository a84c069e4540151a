import { Problem } from '@certwright/errors';
import { isUniqueViolation } from '@certwright/core-schema';
import { RepeatableRequests, type WriteRequest } from '@certwright/idempotency';
import { type HttpResponse, jsonResponse, type ReadMembers } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { Addresses } from '../wire/addresses';
import { entityTag } from '../wire/entity-tag';
import type { OrderExpansion } from '../wire/expansion';
import { OrderChanges } from './order-changes';
import { OrderContextReader, productOf } from './order-context';
import type { OrderRequest } from './order-request';
import { draftOrder } from './order-draft';
import { OrderViews } from './order-views';

@Injectable()
export class CreateOrder {
  constructor(
    private readonly contexts: OrderContextReader,
    private readonly requests: RepeatableRequests,
    private readonly changes: OrderChanges,
    private readonly views: OrderViews,
    private readonly addresses: Addresses,
  ) {}

  /** @throws Problem `bad_request` with everything that is wrong; `already_exists`; `payment_required` */
  async run(
    write: WriteRequest,
    request: ReadMembers<OrderRequest>,
    expansion: OrderExpansion,
  ): Promise<HttpResponse> {
    const context = await this.contexts.of(write.accountId, request.value);
    const { order, faults } = draftOrder(request, context);
    try {
      return await this.requests.run(write, async (tx) => {
        if (faults.length > 0) throw Problem.ofFields(faults);
        const stored = await this.changes.create(tx, write.accountId, order, productOf(order, context));
        return jsonResponse(201, await this.views.showOne(stored, expansion, tx), {
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
