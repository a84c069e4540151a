import { Problem } from '@certwright/errors';
import { RepeatableRequests, type WriteRequest } from '@certwright/idempotency';
import { type HttpResponse, jsonResponse, type ReadMembers } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { assertMatches, entityTag, type Precondition } from '../wire/entity-tag';
import type { OrderExpansion } from '../wire/expansion';
import { noSuchOrder } from '../wire/problems';
import { OrderChanges } from './order-changes';
import { OrderContextReader, productOf } from './order-context';
import type { OrderRequest } from './order-request';
import { draftModification } from './order-draft';
import { OrderViews } from './order-views';
import { OrdersRepository } from './orders.repository';

export interface Modification {
  readonly name: string;
  readonly request: ReadMembers<OrderRequest>;
  readonly precondition: Precondition;
  readonly expansion: OrderExpansion;
}

@Injectable()
export class UpdateOrder {
  constructor(
    private readonly contexts: OrderContextReader,
    private readonly requests: RepeatableRequests,
    private readonly orders: OrdersRepository,
    private readonly changes: OrderChanges,
    private readonly views: OrderViews,
  ) {}

  /** @throws Problem `not_found`, `revision_mismatch`, `payment_required`, or `bad_request` with everything that is wrong */
  async run(write: WriteRequest, modification: Modification): Promise<HttpResponse> {
    const { name, request, precondition, expansion } = modification;
    const context = await this.contexts.of(write.accountId, request.value);
    return await this.requests.run(write, async (tx) => {
      const before = await this.orders.lock(tx, write.accountId, name);
      if (before === null) throw noSuchOrder();
      assertMatches(precondition, before.revision);
      const { order, faults } = draftModification(before, request, context);
      if (faults.length > 0) throw Problem.ofFields(faults);
      const stored = await this.changes.modify(tx, before, order, productOf(order, context));
      return jsonResponse(200, await this.views.showOne(stored, expansion, tx), {
        etag: entityTag(stored.revision),
      });
    });
  }
}
