import { createHash } from 'node:crypto';
import type { AccountKey } from './account-key';

/** RFC 8555, section 8.1. Served unchanged by http-01. */
export function keyAuthorization(token: string, key: Pick<AccountKey, 'thumbprint'>): string {
  return `${token}.${key.thumbprint}`;
}

/** RFC 8555, section 8.4: the TXT value at `_acme-challenge.<name>`. */
export function dns01Value(token: string, key: Pick<AccountKey, 'thumbprint'>): string {
  return createHash('sha256').update(keyAuthorization(token, key)).digest('base64url');
}
