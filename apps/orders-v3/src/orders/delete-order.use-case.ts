import { Issuances } from '@certwright/ordering';
import { Transactions } from '@certwright/core-schema';
import { WebhookDeliveries } from '@certwright/delivery';
import { Injectable } from '@nestjs/common';
import { type HttpResponse, emptyResponse } from '../wire/response';
import { assertMatches, type Precondition } from '../wire/entity-tag';
import { noSuchOrder } from '../wire/problems';
import { OrdersRepository } from './orders.repository';

@Injectable()
export class DeleteOrder {
  constructor(
    private readonly transactions: Transactions,
    private readonly orders: OrdersRepository,
    private readonly issuances: Issuances,
    private readonly deliveries: WebhookDeliveries,
  ) {}

  /**
   * Also ends its open issuance and its webhook deliveries that are not sent yet.
   *
   * @throws Problem `not_found`, `revision_mismatch`
   */
  async run(accountId: string, name: string, precondition: Precondition): Promise<HttpResponse> {
    return await this.transactions.run(async (tx) => {
      const order = await this.orders.lock(tx, accountId, name);
      if (order === null) throw noSuchOrder();
      assertMatches(precondition, order.revision);
      await this.orders.remove(tx, order);
      await this.issuances.closeOpen(tx, order.planId, 'canceled');
      await this.deliveries.cancelOfPlan(tx, order.planId);
      return emptyResponse;
    });
  }
}
