import { createHmac } from 'node:crypto';
import type { ProviderName } from '@certwright/gateway-contract';

/**
 * What a customer writes into its cloud account so that we act there for this account alone. The ids of cloud accounts are
 * no secret: without it, whoever names another customer's would be let in as that customer ("confused deputy").
 *
 * Chosen by us, always the same for an account, and of no use to anybody else: it is compared, not presented by callers.
 * Preimage of the HMAC-SHA-256: `certwright external id 1`, provider and account, each ended by a NUL.
 */
export function externalIdOf(secret: string, provider: ProviderName, account: string): string {
  const preimage = ['certwright external id 1', provider, account].map((part) => `${part}\0`).join('');
  return `certwright-${base32(createHmac('sha256', secret).update(preimage, 'utf8').digest())}`;
}

/** RFC 4648, section 6, in lower case and without padding. */
function base32(octets: Buffer): string {
  const bits = [...octets].map((octet) => octet.toString(2).padStart(8, '0')).join('');
  const groups = bits.match(/.{1,5}/g) ?? [];
  return groups
    .map((group) => 'abcdefghijklmnopqrstuvwxyz234567'[parseInt(group.padEnd(5, '0'), 2)])
    .join('');
}
