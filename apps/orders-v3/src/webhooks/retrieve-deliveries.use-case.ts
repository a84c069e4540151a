import { WebhookEndpoints, WebhookLog } from '@certwright/delivery';
import {
  After,
  type HttpResponse,
  isObjectId,
  jsonResponse,
  Limit,
  maxPageSize,
  pageOf,
} from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { Addresses } from '../wire/addresses';
import { isDeliveryId } from '../wire/request-parameters';
import { noSuchDelivery, noSuchWebhook } from '../wire/problems';
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
    const { rows, headers } = pageOf(found, query, this.addresses.deliveries(webhookId), ({ id }) => id);
    return jsonResponse(200, await this.views.show(rows), headers);
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
