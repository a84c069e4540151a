import { randomBytes } from 'node:crypto';
import type { Keeping, WriteRequest } from '@certwright/idempotency';
import type { SealingKeys } from '@certwright/sealing';
import { credentialsContext, secretContext, signingSecret, signingSecretBytes } from '@certwright/webhooks';

/** Of a nonce of the sealing keys. */
const nonceBytes = 12;

export function freshSigningSecret(): string {
  return signingSecret(randomBytes(signingSecretBytes));
}

/** Seals what endpoints must keep to themselves. What opens it, apart from a repeated request, is the delivery. */
export class EndpointSecrets {
  constructor(private readonly keys: SealingKeys) {}

  sealSecret(endpointId: string, secret: string): Buffer {
    return this.seal(secret, secretContext(endpointId));
  }

  /** @param credentials `user:password` */
  sealCredentials(endpointId: string, credentials: string | null): Buffer | null {
    return credentials === null ? null : this.seal(credentials, credentialsContext(endpointId));
  }

  /** A response that shows a secret is stored sealed, for a repeated request. */
  keeping({ accountId, path, key }: WriteRequest): Keeping {
    const context = `idempotency-record:${accountId}:${path}:${key}`;
    return {
      keep: (body) => this.seal(body, context).toString('base64'),
      reveal: (kept) => this.keys.open(Buffer.from(kept, 'base64'), context),
    };
  }

  private seal(text: string, context: string): Buffer {
    return this.keys.seal(text, context, randomBytes(nonceBytes));
  }
}
