import type { AcmeProblem } from '../acme-problem';
import type { AcmeAuthorization } from '../resources/authorization';
import type { AcmeOrder } from '../resources/order';
import { adviceOn } from './advice';

/** In words for the caller. The CA's own explanation is part of `why`, bounded and printable. */
export interface FailedName {
  /** With its `*.`. */
  readonly dnsName: string;
  readonly why: string;
  readonly whatToDo: string;
  /** Null where the CA gave no reason. */
  readonly type: AcmeProblem['type'] | null;
}

export interface FailedOrder {
  /** Those to blame; empty when the order failed as a whole. */
  readonly names: readonly FailedName[];
  /** The order as a whole. */
  readonly why: string;
  readonly whatToDo: string;
  readonly problem: AcmeProblem | null;
}

const notOffered = {
  why: 'The CA does not offer any of the ways to approve this name that are set up for it.',
  whatToDo: 'Set up another way to approve the name; wildcards need DNS.',
};

/** Which names failed, from the authorizations and from the order's own problem. */
export function failureOf(
  order: AcmeOrder,
  authorizations: readonly AcmeAuthorization[],
  isOffered: (authorization: AcmeAuthorization) => boolean,
  now: Date,
): FailedOrder {
  const names = new Map<string, FailedName>();
  for (const name of [...fromOrder(order.problem), ...fromAuthorizations(authorizations, isOffered, order)])
    if (!names.has(name.dnsName)) names.set(name.dnsName, name);
  const { problem } = order;
  const isLate = order.status !== 'invalid' && order.expires !== null && order.expires <= now;
  const whole = isLate ? lapsed : explained(problem);
  return { names: [...names.values()], ...whole, problem };
}

const lapsed = {
  why: 'The order lapsed before it was complete.',
  whatToDo: 'A new order is needed; check that each name can be approved in time.',
};

function fromOrder(problem: AcmeProblem | null): readonly FailedName[] {
  return (problem?.subproblems ?? []).flatMap((sub) => {
    return sub.dnsName === null ? [] : [{ dnsName: sub.dnsName, ...explained(sub), type: sub.type }];
  });
}

function fromAuthorizations(
  authorizations: readonly AcmeAuthorization[],
  isOffered: (authorization: AcmeAuthorization) => boolean,
  order: AcmeOrder,
): readonly FailedName[] {
  return authorizations.flatMap((authorization) => {
    const { status, isWildcard, challenges } = authorization;
    if (status === 'valid') return [];
    const dnsName = isWildcard ? `*.${authorization.dnsName}` : authorization.dnsName;
    const problem = challenges.find((challenge) => challenge.status === 'invalid')?.problem ?? null;
    const hasFailed = challenges.some((challenge) => challenge.status === 'invalid');
    if (hasFailed || status === 'invalid')
      return [{ dnsName, ...explained(problem), type: problem?.type ?? null }];
    if (status !== 'pending') return [{ dnsName, ...endedAs(status), type: null }];
    // Another name spoilt the order, and this one was not looked at.
    if (order.status === 'invalid' || isOffered(authorization)) return [];
    return [{ dnsName, ...notOffered, type: null }];
  });
}

function endedAs(status: 'deactivated' | 'expired' | 'revoked') {
  const why = `The CA's approval of this name is ${status}.`;
  return { why, whatToDo: 'Nothing: the next order approves it anew.' };
}

function explained(problem: AcmeProblem | null) {
  const advice = adviceOn(problem?.type ?? 'other');
  const detail = problem === null || problem.detail === '' ? '' : ` The CA says: ${problem.detail}`;
  return { why: `${advice.why}${detail}`, whatToDo: advice.whatToDo };
}
