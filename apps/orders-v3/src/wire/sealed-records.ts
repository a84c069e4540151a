import { createHash, randomBytes } from 'node:crypto';
import type { BodyFingerprint, Keeping, WriteRequest } from '@certwright/idempotency';
import { SealBroken, type SealingKeys } from '@certwright/sealing';

/** Of a nonce of the sealing keys. */
export const nonceBytes = 12;

/** A request with credentials, or a response that shows a secret, is stored sealed, for a repeated request. */
export function sealedKeeping(keys: SealingKeys, write: WriteRequest): Keeping {
  const { accountId, path, key } = write;
  const context = `idempotency-record:${accountId}:${path}:${key}`;
  return {
    fingerprintOf: () => sealedFingerprint(keys, write),
    keep: (body) => keys.seal(body, context, randomBytes(nonceBytes)).toString('base64'),
    reveal: (kept) => keys.open(Buffer.from(kept, 'base64'), context),
  };
}

/**
 * Detects whether a repeated request has the same body, when the body contains credentials. A plain digest in the
 * database would allow readers to guess them, so the digest is sealed.
 */
export function sealedFingerprint(
  keys: SealingKeys,
  { accountId, path, key, body }: WriteRequest,
): BodyFingerprint {
  const context = `idempotency-fingerprint:${accountId}:${path}:${key}`;
  const digest = createHash('sha256').update(body).digest('hex');
  return {
    kept: keys.seal(digest, context, randomBytes(nonceBytes)),
    matches: (kept) => opened(keys, kept, context) === digest,
  };
}

/** @returns null when the key that sealed it no longer exists: then it is unknown */
function opened(keys: SealingKeys, kept: Buffer, context: string): string | null {
  try {
    return keys.open(kept, context);
  } catch (error) {
    if (error instanceof SealBroken) return null;
    throw error;
  }
}
