import { Problem } from '@certwright/errors';
import { RepeatableRequests, type WriteRequest } from '@certwright/idempotency';
import { type Tx } from '@certwright/core-schema';
import { type WebhookEndpoint, type WebhookEndpointChange, WebhookEndpoints } from '@certwright/delivery';
import {
  type HttpResponse,
  isObjectId,
  jsonResponse,
  type ReadMembers,
  unknownMemberFaults,
} from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { EndpointSecrets } from './endpoint-secrets';
import { noSuchWebhook } from '../wire/problems';
import { DeliverableUrls } from './deliverable-urls';
import { webhookJson } from './webhook-json';
import type { WebhookRequest } from './webhook-request';

@Injectable()
export class UpdateWebhook {
  constructor(
    private readonly urls: DeliverableUrls,
    private readonly requests: RepeatableRequests,
    private readonly endpoints: WebhookEndpoints,
    private readonly secrets: EndpointSecrets,
  ) {}

  /** @throws Problem `not_found`, or `bad_request` with everything that is wrong */
  async run(write: WriteRequest, id: string, request: ReadMembers<WebhookRequest>): Promise<HttpResponse> {
    if (!isObjectId(id)) throw noSuchWebhook();
    const { accountId } = write;
    const { value, faults } = request;
    const urlFaults = await this.urls.faultsOf(value.url);
    const all = [...faults, ...unknownMemberFaults(request), ...urlFaults];
    const work = async (tx: Tx) => {
      const before = await this.endpoints.get(accountId, id, tx);
      if (before === null) throw noSuchWebhook();
      if (all.length > 0) throw Problem.ofFields(all);
      const after = await this.update(tx, before, value);
      return jsonResponse(200, webhookJson(after, new Date()));
    };
    return await this.requests.run(write, work, this.secrets.keeping(write));
  }

  private async update(
    tx: Tx,
    before: WebhookEndpoint,
    { url, description, enabled, events }: Partial<WebhookRequest>,
  ): Promise<WebhookEndpoint> {
    const change: WebhookEndpointChange = {
      ...(description === undefined ? {} : { description }),
      ...(enabled === undefined ? {} : { enabled }),
      ...(events === undefined ? {} : { events }),
      ...this.addressChange(before, url),
    };
    if (Object.keys(change).length === 0) return before;
    const after = await this.endpoints.update(tx, before.accountId, before.id, change);
    if (after === null) throw noSuchWebhook();
    return after;
  }

  /**
   * A webhook that was read and is sent back has its URL without credentials, and keeps them. Another URL never gets the
   * credentials of the previous one.
   */
  private addressChange(before: WebhookEndpoint, url: WebhookRequest['url']): WebhookEndpointChange {
    if (url === undefined || (url.url === before.url && url.credentials === null)) return {};
    return { url: url.url, credentialsSealed: this.secrets.sealCredentials(before.id, url.credentials) };
  }
}
