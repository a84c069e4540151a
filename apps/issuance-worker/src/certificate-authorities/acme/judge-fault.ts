import type { IssuanceErrorCode, RefusalReason } from '@certwright/issuance';
import type { AcmeFault } from '../../acme';

/**
 * How far an order has come: `wanted` the CA may have heard of it, and it has no URL; `open`; `finalized` the CA was told
 * to issue, or is just being told; `issued`.
 */
export type OrderStage = 'wanted' | 'open' | 'finalized' | 'issued';

export interface FaultFacts {
  readonly stage: OrderStage;
  /** What the CA was asked when it went wrong. */
  readonly operation: 'newOrder' | 'order' | 'authorization' | 'respond' | 'finalize' | 'certificate';
  /** Failures of the issuance before this one, in a row. */
  readonly failures: number;
  /** The attempt before this one was ended by passing faults as well. */
  readonly stalledBefore: boolean;
  /** The product names other CAs. */
  readonly hasOthers: boolean;
  readonly now: Date;
}

export type FaultVerdict =
  /** Nothing was issued, and the next CA may be asked. `until`: when this one's limit frees. */
  | {
      readonly kind: 'elsewhere';
      readonly code: IssuanceErrorCode;
      readonly until: Date | null;
      readonly final: boolean;
    }
  /**
   * The CA, or the way to it, is in trouble: no failure of the order. `leaves`: nothing was issued, and the next CA may be
   * asked; else the order is resumed.
   */
  | { readonly kind: 'stalled'; readonly leaves: boolean }
  /** Nothing was issued, and no other CA would do better. */
  | { readonly kind: 'over'; readonly code: IssuanceErrorCode; readonly final: boolean }
  /** The CA says when it may be asked again. */
  | { readonly kind: 'wait'; readonly until: Date }
  /** Not known how it stands: the order is resumed after a back-off. */
  | { readonly kind: 'resume' }
  /** What was handed over is no certificate chain, and asking again does not make it one. */
  | { readonly kind: 'unusable' };

const hourMs = 60 * 60_000;

/** Where the CA does not say: a quota is refilled within hours. */
const restMs = { limit: hourMs, least: 1_000 };

/** Failures in a row after which an order that the CA was told to issue counts as gone: two hours of back-off. */
const failuresUntilGone = 3;

/** What a new CSR or other names would mend, and nothing else. */
const finalReasons: ReadonlySet<RefusalReason> = new Set([
  'badCSR',
  'badPublicKey',
  'rejectedIdentifier',
  'unsupportedIdentifier',
]);

export function isFinalProblem(reason: RefusalReason): boolean {
  return finalReasons.has(reason);
}

/** What a fault in an exchange about an order means for it. Before the CA was told to issue, nothing is spent by going elsewhere. */
export function judgeFault(fault: AcmeFault, facts: FaultFacts): FaultVerdict {
  const { stage, now } = facts;
  if (isQuota(fault)) {
    const until = untilOf(fault, now);
    return stage === 'wanted'
      ? { kind: 'elsewhere', code: 'rate_limited', until, final: false }
      : { kind: 'wait', until };
  }
  if (facts.operation === 'certificate' && fault.lasting) return { kind: 'unusable' };
  if (isAway(fault)) {
    const leaves = stage === 'wanted' || (stage === 'open' && facts.stalledBefore && facts.hasOthers);
    return { kind: 'stalled', leaves };
  }
  return refused(fault, facts);
}

/** As the CA says, but never at once: one that says 0 would keep a worker busy. */
function untilOf(fault: AcmeFault, now: Date): Date {
  const askedMs = fault.retryAt === null ? restMs.limit : fault.retryAt.getTime() - now.getTime();
  return new Date(now.getTime() + Math.max(askedMs, restMs.least));
}

/** RFC 8555, section 6.6; an overloaded server says 503, and that is no quota. */
function isQuota({ kind, status, problem }: AcmeFault): boolean {
  return kind === 'rate_limited' && (status !== 503 || problem?.type === 'rateLimited');
}

function isAway({ kind, status, problem }: AcmeFault): boolean {
  if (kind !== 'problem') return status !== 404 && status !== 410;
  return problem?.type === 'serverInternal' || problem?.type === 'badNonce' || (status ?? 0) >= 500;
}

const goneStatuses: ReadonlySet<number | null> = new Set([404, 410]);

function refused({ problem, status }: AcmeFault, { stage, operation, failures }: FaultFacts): FaultVerdict {
  const type = problem?.type ?? 'other';
  const code = type === 'caa' ? 'caa_forbids' : 'ca_rejected';
  const final = isFinalProblem(type);
  if (stage === 'wanted') return { kind: 'elsewhere', code, until: null, final };
  const isGone = goneStatuses.has(status);
  // A copy of the CA's database that lags behind, or something in front of it, says so as well: once it was told to
  // issue, an order is not given up at the first word.
  if (isGone && (operation === 'order' || operation === 'authorization'))
    return stage === 'open' || failures >= failuresUntilGone
      ? { kind: 'over', code: 'ca_unavailable', final: false }
      : { kind: 'resume' };
  // A CA that refuses to finalize has not issued (RFC 8555, section 7.4); without a problem document it was not the CA.
  if (operation !== 'finalize' || problem === null) return { kind: 'resume' };
  return type === 'caa'
    ? { kind: 'elsewhere', code, until: null, final: false }
    : { kind: 'over', code, final };
}
