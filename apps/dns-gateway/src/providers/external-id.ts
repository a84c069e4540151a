import { createHmac } from 'node:crypto';
import type { ProviderName } from '@certwright/gateway-contract';

/**
 * Id that a customer sets in its cloud account to restrict our access to requests for this account. Ids of cloud
 * accounts are not secret: without the external id, a user could name another customer's cloud account and get
 * access as that customer ("confused deputy").
 *
 * Chosen by us, constant per account, and useless to others: it is compared, not presented by callers. Preimage of
 * the HMAC-SHA-256: `certwright external id 1`, provider and account, each terminated by a NUL.
 */
export function externalIdOf(secret: string, provider: ProviderName, account: string): string {
  const preimage = ['certwright external id 1', provider, account].map((part) => `${part}\0`).join('');
  return `certwright-${base32(createHmac('sha256', secret).update(preimage, 'utf8').digest())}`;
}

/** RFC 4648, section 6, in lower case and without padding. */
function base32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const groups = bits.match(/.{1,5}/g) ?? [];
  return groups
    .map((group) => 'abcdefghijklmnopqrstuvwxyz234567'[parseInt(group.padEnd(5, '0'), 2)])
    .join('');
}
