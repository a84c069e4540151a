import { baseName } from '@certwright/dns-names';
import type { CaLimitNeed } from '../../ca-limits/ca-limit-buckets';
import type { CaLimits } from '@certwright/core-schema';
import { authorizationNeeds, limitNeeds } from '../../preflight/limit-needs';

/**
 * Finds the CA limit that a rateLimited problem of newOrder reports, by the wording of Let's Encrypt, which other CAs
 * share. An unrecognised limit is treated as the limit for this exact set of names, so that it delays no other order.
 *
 * @param detail of the problem document
 * @returns null for a limit that the operator has not configured
 */
export function limitReachedBy(
  detail: string,
  dnsNames: readonly string[],
  limits: CaLimits,
): CaLimitNeed | null {
  const needs = [
    ...limitNeeds(dnsNames, limits, { replaces: false }),
    ...authorizationNeeds(dnsNames, limits),
  ];
  const ofKind = (kind: CaLimitNeed['kind']) => needs.filter((need) => need.kind === kind);
  const named = (kind: CaLimitNeed['kind']) => {
    const all = ofKind(kind);
    const quoted = namesIn(detail);
    return all.find(({ key }) => quoted.includes(key)) ?? (all.length === 1 ? all[0] : undefined);
  };
  if (/failed authori[sz]ations?/i.test(detail)) return named('failedAuthorizations') ?? null;
  if (/exact set/i.test(detail)) return ofKind('perNameSet')[0] ?? null;
  if (/new orders/i.test(detail)) return ofKind('newOrders')[0] ?? null;
  if (/certificates? .*already issued for/i.test(detail)) return named('perRegisteredDomain') ?? null;
  return ofKind('perNameSet')[0] ?? null;
}

/** Quoted names in the text, such as `"example.com"`. */
function namesIn(detail: string): readonly string[] {
  return [...detail.matchAll(/"([^"\s]{1,255})"/g)].map(([, name = '']) => baseName(name.toLowerCase()));
}
