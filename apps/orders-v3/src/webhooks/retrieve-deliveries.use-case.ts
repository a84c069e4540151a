import { WebhookEndpoints, WebhookLog } from '@certwright/delivery';
import { Injectable } from '@nestjs/common';
import { Addresses } from '../wire/addresses';
import { type HttpResponse, jsonResponse } from '../wire/response';
import { isDeliveryId, isObjectId } from '../wire/request-parameters';
import { noSuchDelivery, noSuchWebhook } from '../wire/problems';
import { After, Limit, maxPageSize, nextPageLink } from '../wire/query-members';
import { DeliveryViews } from './delivery-json';

export class DeliveriesQuery {
  @After(isDeliveryId, 'Id of the last delivery of the page before.')
  after: string | null = null;

  @Limit()
  limit = maxPageSize;
}

@Injectable()
export class RetrieveDeliveries {
  constructor(
    private readonly endpoints: WebhookEndpoints,
    private readonly log: WebhookLog,
    private readonly views: DeliveryViews,
    private readonly addresses: Addresses,
  ) {}

  /** Newest first. @throws Problem `not_found` */
  async page(accountId: string, webhookId: string, query: DeliveriesQuery): Promise<HttpResponse> {
    const { after, limit } = query;
    await this.assertExists(accountId, webhookId);
    const found = await this.log.page(accountId, webhookId, { after, limit: limit + 1 });
    const deliveries = found.slice(0, limit);
    const shown = await this.views.show(deliveries);
    const last = deliveries.at(-1);
    if (found.length <= limit || last === undefined) return jsonResponse(200, shown);
    const path = this.addresses.deliveries(webhookId);
    return jsonResponse(200, shown, { link: nextPageLink(path, last.id, query) });
  }

  /** With the body that was sent. @throws Problem `not_found` */
  async one(accountId: string, webhookId: string, id: string): Promise<HttpResponse> {
    await this.assertExists(accountId, webhookId);
    const delivery = isDeliveryId(id) ? await this.views.one(accountId, webhookId, id) : null;
    if (delivery === null) throw noSuchDelivery();
    return jsonResponse(200, delivery);
  }

  private async assertExists(accountId: string, webhookId: string): Promise<void> {
    const found = isObjectId(webhookId) && (await this.endpoints.get(accountId, webhookId)) !== null;
    if (!found) throw noSuchWebhook();
  }
}
