import { looksLikeApiKey } from './api-key';

export type Credentials =
  | { readonly kind: 'none' }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'key'; readonly apiKey: string }
  | PasswordCredentials;

export interface PasswordCredentials {
  readonly kind: 'password';
  /** In lower case, not empty, without a colon. */
  readonly userName: string;
  /** Not empty. */
  readonly password: string;
}

const malformed: Credentials = { kind: 'malformed' };

/**
 * Reads an `Authorization` header: `Bearer <API key>` (RFC 6750 §2.1), or Basic with the API key as user name and an
 * empty password (RFC 7617). The scheme is case-insensitive, everything else is strict.
 *
 * @param passwords whether Basic may also hold a user name and a password; otherwise a password is malformed
 */
export function readCredentials(authorization: string | undefined, { passwords = false } = {}): Credentials {
  if (authorization === undefined) return { kind: 'none' };
  const match = /^(Bearer|Basic) +([A-Za-z0-9._~+/-]+=*)$/i.exec(authorization);
  const [, scheme, token] = match ?? [];
  if (scheme === undefined || token === undefined) return malformed;
  if (scheme.toLowerCase() === 'bearer') return keyIn(token);
  const pair = decodeBase64(token);
  if (pair === undefined) return malformed;
  const colon = pair.indexOf(':');
  if (colon === -1) return malformed;
  if (colon === pair.length - 1) return keyIn(pair.toString('latin1', 0, colon));
  return passwords ? userIn(pair, colon) : malformed;
}

const keyIn = (apiKey: string): Credentials =>
  looksLikeApiKey(apiKey) ? { kind: 'key', apiKey } : malformed;

/** `Buffer.from` skips characters outside base64, so the result is re-encoded and compared; padding may be missing. */
function decodeBase64(token: string): Buffer | undefined {
  const bytes = Buffer.from(token, 'base64');
  return bytes.toString('base64').replace(/=+$/, '') === token.replace(/=+$/, '') ? bytes : undefined;
}

/** Bytes. An email address is at most 254 (RFC 5321 §4.5.3.1.3); longer passwords are not worth hashing. */
const maxBytes = { userName: 254, password: 1_024 } as const;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The challenge announces UTF-8 (RFC 7617 §2.1), and neither part may contain a control character (§2). */
function userIn(pair: Buffer, colon: number): Credentials {
  const [userBytes, passwordBytes] = [pair.subarray(0, colon), pair.subarray(colon + 1)];
  if (userBytes.length > maxBytes.userName || passwordBytes.length > maxBytes.password) return malformed;
  let texts: readonly [string, string];
  try {
    texts = [utf8.decode(userBytes), utf8.decode(passwordBytes)];
  } catch {
    return malformed;
  }
  const [userName, password] = texts;
  if (userName === '' || texts.some((text) => /\p{Cc}/u.test(text))) return malformed;
  return { kind: 'password', userName: userName.normalize('NFC').toLowerCase(), password };
}
