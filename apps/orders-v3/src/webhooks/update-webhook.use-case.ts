import { Problem } from '@certwright/errors';
import { RepeatableRequests, type WriteRequest } from '@certwright/idempotency';
import { type Tx } from '@certwright/core-schema';
import { type WebhookEndpoint, type WebhookEndpointChange, WebhookEndpoints } from '@certwright/delivery';
import { Injectable } from '@nestjs/common';
import { type Answer, jsonAnswer } from '../wire/answer';
import { webhookJson } from '../wire/webhook-json';
import { type EndpointWishes, readEndpointRequest } from './endpoint-request';
import { EndpointSecrets } from './endpoint-secrets';
import { isObjectId } from '../wire/request-parameters';
import { noSuchWebhook } from '../wire/problems';
import { DeliverableUrls } from './deliverable-urls';

@Injectable()
export class UpdateWebhook {
  constructor(
    private readonly urls: DeliverableUrls,
    private readonly requests: RepeatableRequests,
    private readonly endpoints: WebhookEndpoints,
    private readonly secrets: EndpointSecrets,
  ) {}

  /** @throws Problem `not_found`, or `bad_request` with everything that is wrong */
  async run(write: WriteRequest, id: string, body: unknown): Promise<Answer> {
    if (!isObjectId(id)) throw noSuchWebhook();
    const { accountId } = write;
    const { wishes, faults } = readEndpointRequest(body);
    const all = [...faults, ...(await this.urls.faultsOf(wishes.url))];
    return await this.requests.run(write, async (tx) => {
      const before = await this.endpoints.get(accountId, id, tx);
      if (before === null) throw noSuchWebhook();
      if (all.length > 0) throw Problem.ofFields(all);
      const after = await this.update(tx, before, wishes);
      return jsonAnswer(200, webhookJson(after, new Date()));
    });
  }

  private async update(tx: Tx, before: WebhookEndpoint, wishes: EndpointWishes): Promise<WebhookEndpoint> {
    const { url, ...rest } = wishes;
    const change = { ...rest, ...this.addressChange(before, url) };
    if (Object.keys(change).length === 0) return before;
    const after = await this.endpoints.update(tx, before.accountId, before.id, change);
    if (after === null) throw noSuchWebhook();
    return after;
  }

  /**
   * A webhook that was read and is sent back has its URL without credentials, and keeps them. Another URL never gets
   * those of the one before: they were meant for that one.
   */
  private addressChange(before: WebhookEndpoint, url: EndpointWishes['url']): WebhookEndpointChange {
    if (url === undefined || (url.url === before.url && url.credentials === null)) return {};
    return { url: url.url, credentialsSealed: this.secrets.sealCredentials(before.id, url.credentials) };
  }
}
