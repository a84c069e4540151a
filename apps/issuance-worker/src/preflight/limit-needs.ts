import { createHash } from 'node:crypto';
import { baseName, registeredDomain } from '@certwright/dns-names';
import type { CaLimitNeed } from '../ca-limits/ca-limit-buckets';
import type { CaLimits } from '@certwright/core-schema';

/** What one new order consumes of the CA's limits. @param dnsNames wildcards with `*.` */
export function limitNeeds(
  dnsNames: readonly string[],
  limits: CaLimits,
  { replaces }: { readonly replaces: boolean },
): readonly CaLimitNeed[] {
  if (replaces && limits.replacementsExempt === true) return [];
  const { newOrders, perRegisteredDomain, perNameSet } = limits;
  const needs: CaLimitNeed[] = [];
  if (newOrders !== undefined) needs.push({ kind: 'newOrders', key: '', limit: newOrders });
  if (perRegisteredDomain !== undefined) {
    // A public suffix itself, which a name may have become since, counts as its own domain.
    const domains = new Set(dnsNames.map((name) => registeredDomain(name) ?? baseName(name)));
    for (const key of domains) {
      needs.push({ kind: 'perRegisteredDomain', key, limit: perRegisteredDomain });
    }
  }
  if (perNameSet !== undefined)
    needs.push({ kind: 'perNameSet', key: nameSetKey(dnsNames), limit: perNameSet });
  return needs;
}

/**
 * What failed authorizations of these names consume; pass to `CaLimitBuckets.take` when the CA reports the failure. A
 * name and its wildcard count once.
 */
export function authorizationNeeds(
  dnsNames: readonly string[],
  { failedAuthorizations: limit }: CaLimits,
): readonly CaLimitNeed[] {
  if (limit === undefined) return [];
  return [...new Set(dnsNames.map(baseName))].map((key) => ({ kind: 'failedAuthorizations', key, limit }));
}

/** SHA-256, in hex, of the distinct names, sorted by their bytes and joined by commas. */
function nameSetKey(dnsNames: readonly string[]): string {
  return createHash('sha256')
    .update([...new Set(dnsNames)].sort().join(','))
    .digest('hex');
}
