import type { NameRefusal, RefusalReason } from '@certwright/issuance';
import type { AcmeProblem } from '../acme-problem';
import type { AcmeAuthorization } from '../resources/authorization';
import type { AcmeOrder } from '../resources/order';

export interface FailedOrder {
  /** Failed names, with their `*.`; empty when the order failed as a whole. */
  readonly names: readonly NameRefusal[];
  /** Reason for the order as a whole. */
  readonly reason: RefusalReason;
  /** The CA's message about the order, bounded and printable; empty: none. */
  readonly saying: string;
}

/** Collects the failed names from the authorizations and from the order's own problem. */
export function failureOf(
  order: AcmeOrder,
  authorizations: readonly AcmeAuthorization[],
  isOffered: (authorization: AcmeAuthorization) => boolean,
  now: Date,
): FailedOrder {
  const names = new Map<string, NameRefusal>();
  for (const name of [...fromOrder(order.problem), ...fromAuthorizations(authorizations, isOffered, order)])
    if (!names.has(name.dnsName)) names.set(name.dnsName, name);
  const { problem } = order;
  const isLate = order.status !== 'invalid' && order.expires !== null && order.expires <= now;
  const whole = isLate ? { reason: 'lapsed' as const, saying: '' } : explained(problem);
  return { names: [...names.values()], ...whole };
}

function fromOrder(problem: AcmeProblem | null): readonly NameRefusal[] {
  return (problem?.subproblems ?? []).flatMap((sub) => {
    return sub.dnsName === null ? [] : [{ dnsName: sub.dnsName, ...explained(sub) }];
  });
}

function fromAuthorizations(
  authorizations: readonly AcmeAuthorization[],
  isOffered: (authorization: AcmeAuthorization) => boolean,
  order: AcmeOrder,
): readonly NameRefusal[] {
  return authorizations.flatMap((authorization) => {
    const { status, isWildcard, challenges } = authorization;
    if (status === 'valid') return [];
    const dnsName = isWildcard ? `*.${authorization.dnsName}` : authorization.dnsName;
    const problem = challenges.find((challenge) => challenge.status === 'invalid')?.problem ?? null;
    const hasFailed = challenges.some((challenge) => challenge.status === 'invalid');
    if (hasFailed || status === 'invalid') return [{ dnsName, ...explained(problem) }];
    if (status !== 'pending') return [{ dnsName, reason: `approval_${status}`, saying: '' }];
    // Another name failed the order, and this one was not validated.
    if (order.status === 'invalid' || isOffered(authorization)) return [];
    return [{ dnsName, reason: 'no_challenge', saying: '' }];
  });
}

function explained(problem: AcmeProblem | null): Pick<NameRefusal, 'reason' | 'saying'> {
  return { reason: problem?.type ?? 'other', saying: problem?.detail ?? '' };
}
