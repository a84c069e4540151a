import {
  freshDeliveryId,
  WebhookDeliveries,
  type WebhookEndpoint,
  WebhookEndpoints,
} from '@certwright/delivery';
import { RepeatableRequests, type WriteRequest } from '@certwright/idempotency';
import { type Tx } from '@certwright/core-schema';
import {
  type HttpResponse,
  isObjectId,
  jsonResponse,
  type ReadMembers,
  validMembers,
} from '@certwright/service';
import { testEvent } from '@certwright/webhooks';
import { Injectable } from '@nestjs/common';
import { Addresses } from '../wire/addresses';
import { DeliveryViews } from './delivery-json';
import { isDeliveryId } from '../wire/request-parameters';
import { noSuchDelivery, noSuchWebhook, nothingSent } from '../wire/problems';
import { testEventJson } from './webhook-json';

/** Deliveries that a caller requests. */
@Injectable()
export class SendDelivery {
  constructor(
    private readonly requests: RepeatableRequests,
    private readonly endpoints: WebhookEndpoints,
    private readonly deliveries: WebhookDeliveries,
    private readonly views: DeliveryViews,
    private readonly addresses: Addresses,
  ) {}

  /** Sends the body of a delivery again, as a delivery of its own. @throws Problem `not_found`, `conflict`, `bad_request` */
  async replay(
    write: WriteRequest,
    webhookId: string,
    id: string,
    body: ReadMembers<object>,
  ): Promise<HttpResponse> {
    return await this.send(write, webhookId, body, async (tx, { accountId }, freshId) => {
      if (!isDeliveryId(id) || (await this.views.one(accountId, webhookId, id, tx)) === null)
        throw noSuchDelivery();
      return await this.deliveries.replay(tx, accountId, webhookId, id, freshId);
    });
  }

  /** @throws Problem `not_found`, `conflict`, `bad_request` */
  async test(write: WriteRequest, webhookId: string, body: ReadMembers<object>): Promise<HttpResponse> {
    return await this.send(write, webhookId, body, async (tx, endpoint, freshId) => {
      return await this.deliveries.enqueue(tx, {
        deliveryId: freshId,
        endpointId: endpoint.id,
        accountId: endpoint.accountId,
        planId: null,
        version: 0,
        event: testEvent,
        body: JSON.stringify(testEventJson(endpoint, new Date())),
      });
    });
  }

  private async send(
    write: WriteRequest,
    webhookId: string,
    body: ReadMembers<object>,
    enqueue: (tx: Tx, endpoint: WebhookEndpoint, freshId: string) => Promise<boolean>,
  ): Promise<HttpResponse> {
    if (!isObjectId(webhookId)) throw noSuchWebhook();
    const { accountId } = write;
    return await this.requests.run(write, async (tx) => {
      validMembers(body);
      const endpoint = await this.endpoints.get(accountId, webhookId, tx);
      if (endpoint === null) throw noSuchWebhook();
      const freshId = freshDeliveryId();
      if (!(await enqueue(tx, endpoint, freshId))) throw nothingSent();
      const shown = await this.views.one(accountId, webhookId, freshId, tx);
      return jsonResponse(201, shown, { location: this.addresses.delivery(webhookId, freshId) });
    });
  }
}
