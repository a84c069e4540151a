import { Certificates } from '@certwright/ordering';
import {
  After,
  Expand,
  type HttpResponse,
  isObjectId,
  jsonResponse,
  Limit,
  ListTurns,
  maxPageSize,
  pageOf,
} from '@certwright/service';
import { Injectable } from '@nestjs/common';
import type { StoredOrder } from '../orders/order';
import { OrdersRepository } from '../orders/orders.repository';
import { Addresses } from '../wire/addresses';
import { certificateJson } from '../wire/certificate-json';
import { certificateExpansion } from '../wire/expansion';
import { noSuchCertificate, noSuchOrder } from '../wire/problems';

export class CertificateQuery {
  @Expand('leaf', 'chain', 'root')
  expand: readonly string[] = [];
}

export class CertificatesQuery extends CertificateQuery {
  @After(isObjectId, 'Id of the last certificate of the page before.')
  after: string | null = null;

  @Limit()
  limit = maxPageSize;
}

@Injectable()
export class RetrieveCertificates {
  constructor(
    private readonly orders: OrdersRepository,
    private readonly certificates: Certificates,
    private readonly turns: ListTurns,
    private readonly addresses: Addresses,
  ) {}

  /** @throws Problem `not_found` */
  async one(
    accountId: string,
    orderName: string,
    id: string,
    query: CertificateQuery,
  ): Promise<HttpResponse> {
    const { planId } = await this.order(accountId, orderName);
    const certificate = isObjectId(id) ? await this.certificates.ofPlan(planId, id) : null;
    if (certificate === null) throw noSuchCertificate();
    return jsonResponse(200, certificateJson(certificate, certificateExpansion(query.expand), new Date()));
  }

  /** Newest first. @throws Problem `not_found`, `rate_limited` */
  async page(accountId: string, orderName: string, query: CertificatesQuery): Promise<HttpResponse> {
    const { after, limit, expand } = query;
    const { planId } = await this.order(accountId, orderName);
    return await this.turns.run(accountId, async () => {
      const found = await this.certificates.page(planId, after, limit + 1);
      const { rows, headers } = pageOf(found, query, this.addresses.certificates(orderName), ({ id }) => id);
      const now = new Date();
      const shown = rows.map((each) => certificateJson(each, certificateExpansion(expand), now));
      return jsonResponse(200, shown, headers);
    });
  }

  private async order(accountId: string, name: string): Promise<StoredOrder> {
    const order = await this.orders.find(accountId, name);
    if (order === null) throw noSuchOrder();
    return order;
  }
}
