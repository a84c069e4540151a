import { Transactions } from '@certwright/persistence';
import { Injectable } from '@nestjs/common';
import { type Answer, emptyAnswer } from '../wire/answer';
import { assertMatches, type Precondition } from '../wire/entity-tag';
import { noSuchOrder } from './faults';
import { OrderChanges } from './order-changes';
import { OrdersRepository } from './orders.repository';

@Injectable()
export class DeleteOrder {
  constructor(
    private readonly transactions: Transactions,
    private readonly orders: OrdersRepository,
    private readonly changes: OrderChanges,
  ) {}

  /** @throws Problem `not_found`, `revision_mismatch` */
  async run(accountId: string, name: string, precondition: Precondition): Promise<Answer> {
    return await this.transactions.run(async (tx) => {
      const order = await this.orders.lock(tx, accountId, name);
      if (order === null) throw noSuchOrder();
      assertMatches(precondition, order.revision);
      await this.changes.remove(tx, order);
      return emptyAnswer;
    });
  }
}
