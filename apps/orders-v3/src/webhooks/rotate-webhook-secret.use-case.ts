import { RepeatableRequests, type WriteRequest } from '@certwright/idempotency';
import { WebhookEndpoints } from '@certwright/delivery';
import {
  type HttpResponse,
  isObjectId,
  jsonResponse,
  type ReadMembers,
  validMembers,
} from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { EndpointSecrets, freshSigningSecret } from './endpoint-secrets';
import { noSuchWebhook, tooManySecrets } from '../wire/problems';
import { webhookWithSecretJson } from './webhook-json';

@Injectable()
export class RotateWebhookSecret {
  constructor(
    private readonly requests: RepeatableRequests,
    private readonly endpoints: WebhookEndpoints,
    private readonly secrets: EndpointSecrets,
  ) {}

  /**
   * The previous secret is valid for another 24 h.
   *
   * @throws Problem `not_found`, `bad_request`; `conflict` when too many secrets are valid
   */
  async run(write: WriteRequest, id: string, body: ReadMembers<object>): Promise<HttpResponse> {
    if (!isObjectId(id)) throw noSuchWebhook();
    return await this.requests.run(
      write,
      async (tx) => {
        validMembers(body);
        const secret = freshSigningSecret();
        const sealed = this.secrets.sealSecret(id, secret);
        const endpoint = await this.endpoints.rotateSecret(tx, write.accountId, id, sealed);
        if (endpoint === null) throw noSuchWebhook();
        if ('rotatableAt' in endpoint) throw tooManySecrets(endpoint.rotatableAt);
        return jsonResponse(200, webhookWithSecretJson(endpoint, secret, new Date()));
      },
      this.secrets.keeping(write),
    );
  }
}
