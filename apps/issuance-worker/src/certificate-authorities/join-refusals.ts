import type { IssuanceError, Outcome } from '@certwright/issuance';
import type { Refusal, Refused } from './certificate-authority';

/**
 * Outcome of an issuance that every CA of its product refused. It waits for what comes first: a retry of a CA that
 * just failed, a CA that is down, a limit, or the back-off if another refusal may not last.
 */
export function joinRefusals(refusals: readonly Refusal[]): Refused {
  const [first, ...others] = refusals;
  if (first === undefined) throw new Error('no CA refused');
  const waiting = refusals.filter(hasTime).sort(sooner)[0];
  const stalled = refusals.filter(({ unavailable }) => unavailable === 'stalled');
  const down = refusals.filter(({ unavailable }) => unavailable === 'down');
  const limited = refusals.filter(hasTime).filter(({ unavailable }) => unavailable === undefined);
  const open = refusals.find(({ final }) => !final);
  const decisive = stalled[0] ?? waiting ?? open ?? first;
  const each = refusals.map(({ authority, error: { outcome } }) => ({ authority, outcome }));
  const outcome: Outcome =
    others.length === 0 ? first.error.outcome : { code: 'cas_refused', refusals: each };
  const refused = { kind: 'refused', final: open === undefined } as const;
  if (stalled.length > 0) {
    const error: IssuanceError = { code: decisive.error.code, outcome };
    const until = stalled.every(hasTime) ? (waiting?.until ?? null) : null;
    return { ...refused, error, until, waitsFor: [], stalled: true };
  }
  const backsOff = refusals.some(mayChange);
  // The end of a probe is no reason to try the other CAs again.
  const isTimed = limited.length > 0 || backsOff;
  const until = (isTimed ? limited.sort(sooner)[0] : waiting)?.until ?? null;
  const keepsDueTime = down.length > 0 && isTimed;
  const error: IssuanceError = {
    ...{ code: decisive.error.code, outcome },
    ...(keepsDueTime ? { keepsDueTime } : {}),
  };
  return {
    ...{ ...refused, error, until, waitsFor: down.map(({ authority }) => authority), stalled: false },
    ...(backsOff && until !== null ? { backsOff } : {}),
  };
}

type Waiting = Refusal & { readonly until: Date };

const hasTime = (refusal: Refusal): refusal is Waiting => refusal.until !== null;

const sooner = (one: Waiting, other: Waiting) => one.until.getTime() - other.until.getTime();

/** Whether a retry may succeed at any time. A CA that is not in use is no candidate until an operator changes that. */
const mayChange = ({ until, final, unavailable, error }: Refusal): boolean =>
  until === null && !final && unavailable === undefined && error.outcome.code !== 'ca_not_in_use';
