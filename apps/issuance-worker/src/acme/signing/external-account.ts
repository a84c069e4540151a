import { createHmac } from 'node:crypto';
import type { PublicJwk } from './account-key';
import { assemble, type FlattenedJws } from './jws';

/** Credentials that a commercial CA issues to link an ACME account to a customer. */
export interface ExternalAccount {
  readonly keyId: string;
  readonly hmacKey: Uint8Array;
  /** Default: HS256, which every CA accepts. */
  readonly algorithm?: 'HS256' | 'HS384' | 'HS512';
}

const digests = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' } as const;

/** RFC 8555, section 7.3.4: the account's public key, signed with the key from the CA. */
export function bindExternalAccount(
  { keyId, hmacKey, algorithm = 'HS256' }: ExternalAccount,
  jwk: PublicJwk,
  newAccountUrl: string,
): FlattenedJws {
  const header = { alg: algorithm, kid: keyId, url: newAccountUrl };
  return assemble(header, JSON.stringify(jwk), (input) =>
    createHmac(digests[algorithm], hmacKey).update(input).digest('base64url'),
  );
}

/**
 * An external account key as CAs print it: base64url, or base64, padded or not.
 *
 * @returns null when it is neither, or shorter than 16 bytes
 */
export function readHmacKey(text: string): Uint8Array | null {
  const bare = text.trim().replace(/=+$/, '').replace(/\+/g, '-').replace(/\//g, '_');
  const bytes = Buffer.from(bare, 'base64url');
  // Decoding skips characters outside base64, so the result is encoded again and compared.
  return bytes.toString('base64url') === bare && bytes.length >= 16 ? bytes : null;
}
