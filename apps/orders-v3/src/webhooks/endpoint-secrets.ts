import { randomBytes } from 'node:crypto';
import type { Keeping, WriteRequest } from '@certwright/idempotency';
import type { SealingKeys } from '@certwright/sealing';
import { nonceBytes, sealedKeeping } from '../wire/sealed-records';
import { credentialsContext, secretContext, signingSecret, signingSecretBytes } from '@certwright/webhooks';

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

  /** For a URL with credentials, and a response that shows a secret. */
  keeping(write: WriteRequest): Keeping {
    return sealedKeeping(this.keys, write);
  }

  private seal(text: string, context: string): Buffer {
    return this.keys.seal(text, context, randomBytes(nonceBytes));
  }
}
