import type { AccountKey } from './account-key';

/** Identifies the signing key to the server: the account's URL, or the key itself before an account exists. */
export type Signer =
  | { readonly key: AccountKey; readonly accountUrl: string }
  | { readonly key: AccountKey; readonly accountUrl: null };

/** A JWS in flattened JSON serialisation (RFC 7515, section 7.2.2), as RFC 8555, section 6.2 requires. */
export interface FlattenedJws {
  readonly protected: string;
  readonly payload: string;
  readonly signature: string;
}

export type Payload = Readonly<Record<string, unknown>> | null;

/** RFC 8555, section 6.3: an empty payload, not an empty object. */
export const postAsGet: Payload = null;

/** @param nonce null only in the inner JWS of a key change (RFC 8555, section 7.3.5) */
export function signRequest(
  { key, accountUrl }: Signer,
  url: string,
  nonce: string | null,
  payload: Payload,
): FlattenedJws {
  const header = {
    alg: key.algorithm,
    ...(accountUrl === null ? { jwk: key.jwk } : { kid: accountUrl }),
    ...(nonce === null ? {} : { nonce }),
    url,
  };
  return assemble(header, payload === postAsGet ? '' : JSON.stringify(payload), (text) => key.sign(text));
}

/** @param sign takes the signing input, ASCII; returns base64url */
export function assemble(header: object, payload: string, sign: (input: string) => string): FlattenedJws {
  const protectedHeader = base64url(JSON.stringify(header));
  const encoded = base64url(payload);
  return {
    protected: protectedHeader,
    payload: encoded,
    signature: sign(`${protectedHeader}.${encoded}`),
  };
}

function base64url(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64url');
}
