import { randomBytes } from 'node:crypto';
import type { Keeping, WriteRequest } from '@certwright/idempotency';
import type { SealingKeys } from '@certwright/sealing';

/** Of a nonce of the sealing keys. */
export const nonceBytes = 12;

/** A response that shows a secret is stored sealed, for a repeated request. */
export function sealedKeeping(keys: SealingKeys, { accountId, path, key }: WriteRequest): Keeping {
  const context = `idempotency-record:${accountId}:${path}:${key}`;
  return {
    keep: (body) => keys.seal(body, context, randomBytes(nonceBytes)).toString('base64'),
    reveal: (kept) => keys.open(Buffer.from(kept, 'base64'), context),
  };
}
