import { randomInt } from 'node:crypto';
import { type FieldFault, Problem } from '@certwright/errors';
import { RepeatableRequests, type WriteRequest } from '@certwright/idempotency';
import { type Tx } from '@certwright/core-schema';
import { WebhookEndpoints } from '@certwright/delivery';
import {
  type HttpResponse,
  jsonResponse,
  type JsonResponse,
  type ReadMembers,
  unknownMemberFaults,
} from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { Addresses } from '../wire/addresses';
import { EndpointSecrets, freshSigningSecret } from './endpoint-secrets';
import { tooManyWebhooks } from '../wire/problems';
import { DeliverableUrls } from './deliverable-urls';
import { webhookWithSecretJson } from './webhook-json';
import type { WebhookRequest } from './webhook-request';

/** Positive, random, and exact as a JSON number. */
const ids = { min: 1, below: 2 ** 48 - 1 };

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

  /** @throws Problem `bad_request` with everything that is wrong; `conflict` when the account has the maximum number */
  async run(write: WriteRequest, request: ReadMembers<WebhookRequest>): Promise<HttpResponse> {
    const faults = await this.faultsIn(request);
    const work = async (tx: Tx) => {
      if (faults.length > 0) throw Problem.ofFields(faults);
      return await this.create(tx, write.accountId, request.value);
    };
    return await this.requests.run(write, work, this.secrets.keeping(write));
  }

  private async faultsIn(request: ReadMembers<WebhookRequest>): Promise<FieldFault[]> {
    const { value, faults } = request;
    const isAbsent = value.url === undefined && !faults.some(({ field }) => field === 'url');
    const urlFaults = isAbsent ? [urlMissing] : await this.urls.faultsOf(value.url);
    return [...faults, ...unknownMemberFaults(request), ...urlFaults];
  }

  private async create(tx: Tx, accountId: string, request: Partial<WebhookRequest>): Promise<JsonResponse> {
    const { url, description = '', enabled = true, events } = request;
    if (url === undefined) throw Problem.ofFields([urlMissing]);
    const id = String(randomInt(ids.min, ids.below));
    const secret = freshSigningSecret();
    const endpoint = await this.endpoints.create(tx, {
      id,
      accountId,
      url: url.url,
      credentialsSealed: this.secrets.sealCredentials(id, url.credentials),
      secretSealed: this.secrets.sealSecret(id, secret),
      description,
      enabled,
      ...(events === undefined ? {} : { events }),
    });
    if (endpoint === null) throw tooManyWebhooks();
    const location = this.addresses.webhook(id);
    return jsonResponse(201, webhookWithSecretJson(endpoint, secret, new Date()), { location });
  }
}
