import { createHash, randomBytes } from 'node:crypto';
import type { BodyFingerprint, WriteRequest } from '@certwright/idempotency';
import { SealBroken, type SealingKeys } from '@certwright/sealing';

/** Length of a nonce of the sealing keys. */
const nonceBytes = 12;

/**
 * Detects whether a repeated request has the same body, when the body contains credentials. A plain digest in the
 * database would allow readers to guess them, so the digest is sealed.
 */
export class BodyFingerprints {
  constructor(private readonly keys: SealingKeys) {}

  of({ accountId, path, key, body }: WriteRequest): BodyFingerprint {
    const context = `idempotency-fingerprint:${accountId}:${path}:${key}`;
    const digest = createHash('sha256').update(body).digest('hex');
    return {
      kept: this.keys.seal(digest, context, randomBytes(nonceBytes)),
      matches: (kept) => this.open(kept, context) === digest,
    };
  }

  /** @returns null when the key that sealed it no longer exists: then it is unknown */
  private open(kept: Buffer, context: string): string | null {
    try {
      return this.keys.open(kept, context);
    } catch (error) {
      if (error instanceof SealBroken) return null;
      throw error;
    }
  }
}
