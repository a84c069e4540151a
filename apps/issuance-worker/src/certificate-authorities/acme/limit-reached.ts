import { baseName } from '@certwright/dns-names';
import type { CaLimitNeed } from '../../ca-limits/ca-limit-buckets';
import type { CaLimits } from '@certwright/core-schema';
import { authorizationNeeds, limitNeeds } from '../../preflight/limit-needs';

/**
 * Which of the CA's limits it speaks of when it refuses a new order for one: known by the words that Let's Encrypt uses,
 * and others after it. One that is not recognised is taken for the one that this very set of names alone counts for, so
 * that no other order is kept back for it.
 *
 * @param detail of the problem document
 * @returns null for a limit that the operator has not entered
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

/** `"example.com"`, as it stands in the words. */
function namesIn(detail: string): readonly string[] {
  return [...detail.matchAll(/"([^"\s]{1,255})"/g)].map(([, name = '']) => baseName(name.toLowerCase()));
}
