import { looksLikeApiKey } from './api-key';

export type Credentials =
  | { readonly kind: 'none' }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'key'; readonly apiKey: string };

const malformed: Credentials = { kind: 'malformed' };

/**
 * Reads an `Authorization` header: `Bearer <API key>` (RFC 6750 §2.1), or Basic with the API key as user name and an
 * empty password (RFC 7617). The scheme is case-insensitive, everything else is strict.
 */
export function readCredentials(authorization: string | undefined): Credentials {
  if (authorization === undefined) return { kind: 'none' };
  const match = /^(Bearer|Basic) +([A-Za-z0-9._~+/-]+=*)$/i.exec(authorization);
  const [, scheme, token] = match ?? [];
  if (scheme === undefined || token === undefined) return malformed;
  const apiKey = scheme.toLowerCase() === 'bearer' ? token : userOfBasic(token);
  return apiKey !== undefined && looksLikeApiKey(apiKey) ? { kind: 'key', apiKey } : malformed;
}

/** The user name, if the password is empty. */
function userOfBasic(token: string): string | undefined {
  const bytes = Buffer.from(token, 'base64');
  // `Buffer.from` skips what is not base64, so the way back must lead to the same text; padding may be missing.
  if (bytes.toString('base64').replace(/=+$/, '') !== token.replace(/=+$/, '')) return undefined;
  const pair = bytes.toString('latin1');
  return pair.indexOf(':') === pair.length - 1 ? pair.slice(0, -1) : undefined;
}
