import { holdsPrivateKey } from '@certwright/errors';
import { privateKeySent } from './pasted-keys';

/**
 * Longest request target in bytes: a name of 255 characters, each four bytes of UTF-8 and percent-encoded to twelve,
 * makes 3,060; a query may hold a hundred names of ordinary length. Below the bound of the whole header, 16 KiB.
 */
export const longestRequestTarget = 15_000;

/**
 * What is wrong with a request target, or `undefined`. Stricter than the router, so that no route has to think of it:
 * only the characters of a URI (RFC 3986 §2), every percent-encoding whole and UTF-8, in the query too, no NUL, which
 * PostgreSQL's text cannot hold, and no private key.
 */
export function faultInRequestTarget(target: string): string | undefined {
  if (target.length > longestRequestTarget) return `The URL is longer than ${longestRequestTarget} bytes.`;
  if (!/^[\x21-\x7e]*$/.test(target)) return 'The URL holds characters that must be percent-encoded.';
  if (target.includes('%00')) return 'The URL holds a NUL character.';
  try {
    // In a query, + may be a space as well as itself.
    const decoded = decodeURIComponent(target);
    const isKeyThere = holdsPrivateKey(decoded) || holdsPrivateKey(decoded.replaceAll('+', ' '));
    return isKeyThere ? `The URL holds ${privateKeySent}` : undefined;
  } catch {
    return 'The URL holds a percent-encoding that is not UTF-8.';
  }
}
