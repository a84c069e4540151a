import { randomInt } from 'node:crypto';
import { type FieldFault, Problem } from '@certwright/errors';
import { RepeatableRequests, type WriteRequest } from '@certwright/idempotency';
import { type Tx } from '@certwright/core-schema';
import { WebhookEndpoints } from '@certwright/delivery';
import { Injectable } from '@nestjs/common';
import { Addresses } from '../wire/addresses';
import { type Answer, jsonAnswer, type JsonAnswer } from '../wire/answer';
import { webhookWithSecretJson } from '../wire/webhook-json';
import { type EndpointReading, readEndpointRequest } from './endpoint-request';
import { EndpointSecrets, freshSigningSecret } from './endpoint-secrets';
import { tooManyWebhooks } from '../wire/problems';
import { DeliverableUrls } from './deliverable-urls';

/** Positive, random, and exact as a JSON number. */
const ids = { least: 1, below: 2 ** 48 - 1 };

const urlMissing: FieldFault = { field: 'url', code: 'missing_field', message: 'A webhook needs a URL.' };

@Injectable()
export class CreateWebhook {
  constructor(
    private readonly urls: DeliverableUrls,
    private readonly requests: RepeatableRequests,
    private readonly endpoints: WebhookEndpoints,
    private readonly secrets: EndpointSecrets,
    private readonly addresses: Addresses,
  ) {}

  /** @throws Problem `bad_request` with everything that is wrong; `conflict` when the account has as many as it may */
  async run(write: WriteRequest, body: unknown): Promise<Answer> {
    const { wishes, faults } = readEndpointRequest(body);
    const urlFaults = Object.hasOwn(Object(body), 'url')
      ? await this.urls.faultsOf(wishes.url)
      : [urlMissing];
    const reading = { wishes, faults: [...faults, ...urlFaults] };
    const work = async (tx: Tx) => await this.create(tx, write.accountId, reading);
    return await this.requests.run(write, work, this.secrets.keeping(write));
  }

  private async create(tx: Tx, accountId: string, { wishes, faults }: EndpointReading): Promise<JsonAnswer> {
    const { url, description = '', enabled = true } = wishes;
    if (url === undefined || faults.length > 0) throw Problem.ofFields(faults);
    const id = String(randomInt(ids.least, ids.below));
    const secret = freshSigningSecret();
    const endpoint = await this.endpoints.create(tx, {
      id,
      accountId,
      url: url.url,
      credentialsSealed: this.secrets.sealCredentials(id, url.credentials),
      secretSealed: this.secrets.sealSecret(id, secret),
      description,
      enabled,
    });
    if (endpoint === null) throw tooManyWebhooks();
    const location = this.addresses.webhook(id);
    return jsonAnswer(201, webhookWithSecretJson(endpoint, secret, new Date()), { location });
  }
}
