import { objectNameFault } from '@certwright/accounts';
import {
  After,
  Expand,
  type HttpResponse,
  jsonResponse,
  Limit,
  ListTurns,
  maxPageSize,
  pageOf,
} from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { Addresses } from '../wire/addresses';
import { entityTag } from '../wire/entity-tag';
import { orderExpansion } from '../wire/expansion';
import { noSuchOrder } from '../wire/problems';
import { OrderViews } from './order-views';
import { OrdersRepository } from './orders.repository';

export class OrderQuery {
  @Expand(
    'csr',
    'current_cert',
    'current_cert.leaf',
    'current_cert.chain',
    'current_cert.root',
    'issuance',
    'installations',
  )
  expand: readonly string[] = [];
}

export class OrdersQuery extends OrderQuery {
  @After((text) => objectNameFault(text) === null, 'Name of the last order of the page before.')
  after: string | null = null;

  @Limit()
  limit = maxPageSize;
}

@Injectable()
export class RetrieveOrders {
  constructor(
    private readonly orders: OrdersRepository,
    private readonly views: OrderViews,
    private readonly turns: ListTurns,
    private readonly addresses: Addresses,
  ) {}

  /** @throws Problem `not_found` */
  async one(accountId: string, name: string, { expand }: OrderQuery): Promise<HttpResponse> {
    const order = await this.orders.find(accountId, name);
    if (order === null) throw noSuchOrder();
    const shown = await this.views.showOne(order, orderExpansion(expand));
    return jsonResponse(200, shown, { etag: entityTag(order.revision) });
  }

  /** By name. @throws Problem `rate_limited` */
  async page(accountId: string, query: OrdersQuery): Promise<HttpResponse> {
    const { after, limit } = query;
    const expansion = orderExpansion(query.expand);
    return await this.turns.run(accountId, async () => {
      const page = { after, limit: limit + 1, withCsr: expansion.csr };
      const found = await this.orders.page(accountId, page);
      const { rows, headers } = pageOf(found, query, this.addresses.orders, ({ name }) => name);
      return jsonResponse(200, await this.views.show(rows, expansion), headers);
    });
  }
}
