import { createHash, createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import type { Setting } from '@certwright/service';

/** A key that credentials are sealed to. */
export interface CredentialKey {
  /** SHA-256 thumbprint of the public key (RFC 7638). */
  readonly kid: string;
  readonly privateKey: KeyObject;
  /** As shown by `GET /description`: EC, P-256, public members only. */
  readonly publicJwk: Readonly<Record<string, string>>;
}

/** The first is the one callers seal to; all of them open, so that keys rotate without a gap. */
export type CredentialKeys = readonly [CredentialKey, ...CredentialKey[]];

/** Injection token. */
export const CredentialKeys = Symbol('CredentialKeys');

/** @throws Error when it is not a private key on P-256; the message reveals nothing of the key */
function credentialKey(privateKey: KeyObject): CredentialKey {
  const { crv, kty, x, y } = createPublicKey(privateKey).export({ format: 'jwk' });
  if (kty !== 'EC' || crv !== 'P-256' || x === undefined || y === undefined) throw new Error('not on P-256');
  // RFC 7638, section 3: the required members alone, in this order, without white space.
  const kid = createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
  return { kid, privateKey, publicJwk: { kty, crv, x, y, use: 'enc', alg: 'ECDH-ES+A256KW', kid } };
}

const pemKey = /-----BEGIN (?:EC )?PRIVATE KEY-----[^-]+-----END (?:EC )?PRIVATE KEY-----/g;

/**
 * @param text private keys on P-256: PEM blocks (PKCS#8), one JWK, or a JWK set
 * @returns null when there is none, or one is anything else
 */
export function readCredentialKeys(text: string): CredentialKeys | null {
  try {
    const keys = (text.trimStart().startsWith('{') ? keysOfJson(text) : keysOfPem(text)).map(credentialKey);
    const [first, ...others] = keys;
    return first === undefined ? null : [first, ...others];
  } catch {
    return null;
  }
}

function keysOfPem(text: string): readonly KeyObject[] {
  const blocks = text.match(pemKey) ?? [];
  return text.replace(pemKey, '').trim() === '' ? blocks.map((pem) => createPrivateKey(pem)) : [];
}

function keysOfJson(text: string): readonly KeyObject[] {
  const read = JSON.parse(text) as JsonWebKey & { readonly keys?: readonly JsonWebKey[] };
  return (read.keys ?? [read]).map((key) => createPrivateKey({ key, format: 'jwk' }));
}

/** Private keys that open sealed credentials, as one secret. */
export function credentialKeys({ meaning }: { readonly meaning: string }): Setting<CredentialKeys> {
  return {
    meaning,
    unit: 'PEM (PKCS#8), JWK or JWK set of private keys on P-256; callers seal to the first, all of them open',
    secret: true,
    read: (text) => {
      const keys = readCredentialKeys(text);
      return keys === null ? { fault: 'holds something else than private keys on P-256' } : { value: keys };
    },
    show: () => '(not shown)',
  };
}
