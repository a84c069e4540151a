import type { Issuer } from '../issuers/issuer';
import type { IssuerExpansion } from './expansion';

/**
 * An issuer in the words of the API. Its key is not known where a log told no chain: the digest is then that of no key, 64
 * zeros, and the key has no octets.
 */
export function issuerJson(issuer: Issuer, expansion: IssuerExpansion): string {
  return JSON.stringify({
    friendly_name: issuer.friendlyName,
    ...(expansion.website ? { website: issuer.website } : {}),
    ...(expansion.caaDomains ? { caa_domains: issuer.caaDomains } : {}),
    ...(expansion.operator ? { operator: issuer.operator } : {}),
    pubkey_sha256: issuer.spkiSha256.toString('hex'),
    ...(expansion.pubkeyDer ? { pubkey_der: issuer.spkiDer?.toString('base64') ?? '' } : {}),
    name: issuer.name,
    ...(expansion.nameDer ? { name_der: issuer.nameDer.toString('base64') } : {}),
  });
}
