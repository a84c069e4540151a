import { createHash, createPublicKey, KeyObject, sign } from 'node:crypto';

export type JwsAlgorithm = 'ES256' | 'ES384' | 'RS256';

/** The members that RFC 7638, section 3.2 requires, in its order: the input of the thumbprint. */
export type PublicJwk =
  | { readonly crv: string; readonly kty: 'EC'; readonly x: string; readonly y: string }
  | { readonly e: string; readonly kty: 'RSA'; readonly n: string };

/** Bits of an RSA modulus: CAs reject shorter keys; signing with longer ones takes a noticeable part of a second. */
const rsaBits = { min: 2_048, max: 4_096 };

/** A private key that signs requests: an account's, or a certificate's own for its revocation. Never serialised here. */
export class AccountKey {
  readonly algorithm: JwsAlgorithm;
  readonly jwk: PublicJwk;
  readonly thumbprint: string;
  readonly #key: KeyObject;

  /** @throws TypeError for a key that is not private, P-256, P-384 or RSA of 2,048 to 4,096 bits */
  constructor(key: KeyObject) {
    if (key.type !== 'private') throw new TypeError('An ACME key must be a private key.');
    this.algorithm = algorithmOf(key);
    this.jwk = publicJwk(key);
    this.thumbprint = thumbprintOf(this.jwk);
    this.#key = key;
  }

  /** Base64url of the signature as JWS writes it: for ECDSA both integers at full length (RFC 7518, section 3.4). */
  sign(text: string): string {
    const digest = this.algorithm === 'ES384' ? 'sha384' : 'sha256';
    const key = { key: this.#key, dsaEncoding: 'ieee-p1363' } as const;
    return sign(digest, Buffer.from(text, 'latin1'), key).toString('base64url');
  }
}

/** RFC 7638 with SHA-256, base64url. The members are already in its order. */
export function thumbprintOf(jwk: PublicJwk): string {
  return createHash('sha256').update(JSON.stringify(jwk)).digest('base64url');
}

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): JwsAlgorithm {
  const { namedCurve, modulusLength = 0 } = asymmetricKeyDetails ?? {};
  if (asymmetricKeyType === 'ec' && namedCurve === 'prime256v1') return 'ES256';
  if (asymmetricKeyType === 'ec' && namedCurve === 'secp384r1') return 'ES384';
  const isFit = modulusLength >= rsaBits.min && modulusLength <= rsaBits.max;
  if (asymmetricKeyType === 'rsa' && isFit) return 'RS256';
  throw new TypeError('An ACME key must be P-256, P-384, or RSA of 2048 to 4096 bits.');
}

function publicJwk(key: KeyObject): PublicJwk {
  const { kty, crv = '', x = '', y = '', e = '', n = '' } = createPublicKey(key).export({ format: 'jwk' });
  return kty === 'EC' ? { crv, kty, x, y } : { e, kty: 'RSA', n };
}
