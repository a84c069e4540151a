import { Injectable } from '@nestjs/common';
import { Addresses } from '../wire/addresses';
import { type Answer, jsonAnswer } from '../wire/answer';
import { entityTag } from '../wire/entity-tag';
import { orderExpansion } from '../wire/expansion';
import { nextPageLink, readAfter, readLimit } from '../wire/page';
import { noSuchOrder } from '../wire/problems';
import { orderNameFault } from './order-name';
import { OrderViews } from './order-views';
import { OrdersRepository } from './orders.repository';

export interface ListQuery {
  readonly after?: unknown;
  readonly limit?: unknown;
  readonly expand?: unknown;
}

@Injectable()
export class RetrieveOrders {
  constructor(
    private readonly orders: OrdersRepository,
    private readonly views: OrderViews,
    private readonly addresses: Addresses,
  ) {}

  /** @throws Problem `not_found` */
  async one(accountId: string, name: string, expand: unknown): Promise<Answer> {
    const order = await this.orders.find(accountId, name);
    if (order === null) throw noSuchOrder();
    const [shown] = await this.views.show([order], orderExpansion(expand));
    return jsonAnswer(200, shown, { etag: entityTag(order.revision) });
  }

  /** @throws Problem `bad_query` */
  async page(accountId: string, query: ListQuery): Promise<Answer> {
    const limit = readLimit(query.limit);
    const after = readAfter(query.after, (text) => orderNameFault(text) === null);
    // One more than is shown tells whether there is a next page.
    const found = await this.orders.page(accountId, after, limit + 1);
    const orders = found.slice(0, limit);
    const shown = await this.views.show(orders, orderExpansion(query.expand));
    const last = orders.at(-1);
    if (found.length <= limit || last === undefined) return jsonAnswer(200, shown);
    return jsonAnswer(200, shown, {
      link: nextPageLink(this.addresses.orders, last.name, limit, query.expand),
    });
  }
}
