import type { IssuanceError, Outcome } from '@certwright/issuance';
import type { Refusal, Refused } from './certificate-authority';

/**
 * Outcome of an issuance that every CA of its product refused. It waits for the earliest of: a retry of a CA that
 * just failed, a CA that is down, a limit.
 */
export function joinRefusals(refusals: readonly Refusal[]): Refused {
  const [first, ...others] = refusals;
  if (first === undefined) throw new Error('no CA refused');
  const waiting = refusals.filter((refusal): refusal is Waiting => refusal.until !== null).sort(sooner)[0];
  const stalled = refusals.find(({ unavailable }) => unavailable === 'stalled');
  const open = refusals.find(({ final }) => !final);
  const decisive = stalled ?? waiting ?? open ?? first;
  const each = refusals.map(({ authority, error: { outcome } }) => ({ authority, outcome }));
  const outcome: Outcome =
    others.length === 0 ? first.error.outcome : { code: 'cas_refused', refusals: each };
  const error: IssuanceError = { code: decisive.error.code, outcome };
  const isDown = ({ unavailable }: Refusal) => unavailable === 'down';
  return {
    kind: 'refused',
    error,
    until: decisive.until,
    final: open === undefined,
    waitsFor: stalled === undefined ? refusals.filter(isDown).map(({ authority }) => authority) : [],
    stalled: stalled !== undefined,
  };
}

type Waiting = Refusal & { readonly until: Date };

const sooner = (one: Waiting, other: Waiting) => one.until.getTime() - other.until.getTime();
