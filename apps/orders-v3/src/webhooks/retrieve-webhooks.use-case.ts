import { WebhookEndpoints } from '@certwright/delivery';
import { Injectable } from '@nestjs/common';
import { type HttpResponse, jsonResponse } from '../wire/response';
import { isObjectId } from '../wire/request-parameters';
import { noSuchWebhook } from '../wire/problems';
import { webhookJson } from './webhook-json';

@Injectable()
export class RetrieveWebhooks {
  constructor(private readonly endpoints: WebhookEndpoints) {}

  /** All of them, oldest first: there are few. */
  async all(accountId: string): Promise<HttpResponse> {
    const endpoints = await this.endpoints.ofAccount(accountId);
    const now = new Date();
    return jsonResponse(
      200,
      endpoints.map((endpoint) => webhookJson(endpoint, now)),
    );
  }

  /** @throws Problem `not_found` */
  async one(accountId: string, id: string): Promise<HttpResponse> {
    const endpoint = isObjectId(id) ? await this.endpoints.get(accountId, id) : null;
    if (endpoint === null) throw noSuchWebhook();
    return jsonResponse(200, webhookJson(endpoint, new Date()));
  }
}
