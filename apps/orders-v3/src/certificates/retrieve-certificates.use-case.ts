import { Certificates } from '@certwright/ordering';
import { Injectable } from '@nestjs/common';
import { noSuchOrder } from '../wire/problems';
import type { StoredOrder } from '../orders/order';
import { OrdersRepository } from '../orders/orders.repository';
import type { ListQuery } from '../orders/retrieve-orders.use-case';
import { Addresses } from '../wire/addresses';
import { type Answer, jsonAnswer } from '../wire/answer';
import { certificateJson } from '../wire/certificate-json';
import { certificateExpansion } from '../wire/expansion';
import { nextPageLink, readAfter, readLimit } from '../wire/page';
import { isObjectId } from '../wire/request-parameters';
import { noSuchCertificate } from '../wire/problems';

@Injectable()
export class RetrieveCertificates {
  constructor(
    private readonly orders: OrdersRepository,
    private readonly certificates: Certificates,
    private readonly addresses: Addresses,
  ) {}

  /** @throws Problem `not_found` */
  async one(accountId: string, orderName: string, id: string, expand: unknown): Promise<Answer> {
    const { planId } = await this.order(accountId, orderName);
    const certificate = isObjectId(id) ? await this.certificates.ofPlan(planId, id) : null;
    if (certificate === null) throw noSuchCertificate();
    return jsonAnswer(200, certificateJson(certificate, certificateExpansion(expand), new Date()));
  }

  /** Newest first. @throws Problem `not_found`, `bad_query` */
  async page(accountId: string, orderName: string, query: ListQuery): Promise<Answer> {
    const limit = readLimit(query.limit);
    const after = readAfter(query.after, isObjectId);
    const { planId } = await this.order(accountId, orderName);
    const found = await this.certificates.page(planId, after, limit + 1);
    const certificates = found.slice(0, limit);
    const now = new Date();
    const shown = certificates.map((each) => certificateJson(each, certificateExpansion(query.expand), now));
    const last = certificates.at(-1);
    if (found.length <= limit || last === undefined) return jsonAnswer(200, shown);
    const path = this.addresses.certificates(orderName);
    return jsonAnswer(200, shown, { link: nextPageLink(path, last.id, limit, query.expand) });
  }

  private async order(accountId: string, name: string): Promise<StoredOrder> {
    const order = await this.orders.find(accountId, name);
    if (order === null) throw noSuchOrder();
    return order;
  }
}
