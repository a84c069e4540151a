import { RepeatableRequests, type WriteRequest } from '@certwright/idempotency';
import { WebhookEndpoints } from '@certwright/delivery';
import { Injectable } from '@nestjs/common';
import { type Answer, jsonAnswer } from '../wire/answer';
import { assertNothingAsked } from '../wire/object-members';
import { webhookWithSecretJson } from '../wire/webhook-json';
import { EndpointSecrets, freshSigningSecret } from './endpoint-secrets';
import { isObjectId } from '../wire/request-parameters';
import { noSuchWebhook } from '../wire/problems';

@Injectable()
export class RotateWebhookSecret {
  constructor(
    private readonly requests: RepeatableRequests,
    private readonly endpoints: WebhookEndpoints,
    private readonly secrets: EndpointSecrets,
  ) {}

  /** The secret before signs as well for 24 h. @throws Problem `not_found`, `bad_request` */
  async run(write: WriteRequest, id: string, body: unknown): Promise<Answer> {
    if (!isObjectId(id)) throw noSuchWebhook();
    assertNothingAsked(body);
    return await this.requests.run(
      write,
      async (tx) => {
        const secret = freshSigningSecret();
        const sealed = this.secrets.sealSecret(id, secret);
        const endpoint = await this.endpoints.rotateSecret(tx, write.accountId, id, sealed);
        if (endpoint === null) throw noSuchWebhook();
        return jsonAnswer(200, webhookWithSecretJson(endpoint, secret, new Date()));
      },
      this.secrets.keeping(write),
    );
  }
}
