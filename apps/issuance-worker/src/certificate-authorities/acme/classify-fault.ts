import type { IssuanceErrorCode, RefusalReason } from '@certwright/issuance';
import type { AcmeFault } from '../../acme';

/**
 * Stage of an order. `wanted`: newOrder may have been sent, the URL is unknown; `open`; `finalized`: finalize was
 * sent or is being sent; `issued`.
 */
export type OrderStage = 'wanted' | 'open' | 'finalized' | 'issued';

export interface FaultContext {
  readonly stage: OrderStage;
  /** The operation that failed. */
  readonly operation: 'newOrder' | 'order' | 'authorization' | 'respond' | 'finalize' | 'certificate';
  /** Consecutive earlier failures of the issuance. */
  readonly failures: number;
  /** The previous attempt also ended with transient errors. */
  readonly stalledBefore: boolean;
  /** The product has other CAs. */
  readonly hasOthers: boolean;
  readonly now: Date;
}

export type FaultVerdict =
  /** Nothing was issued, and the next CA may be tried. `until`: when this one's limit resets. */
  | {
      readonly kind: 'elsewhere';
      readonly code: IssuanceErrorCode;
      readonly until: Date | null;
      readonly final: boolean;
    }
  /**
   * A CA or network error, not a failure of the order. `leaves`: nothing was issued, and the next CA may be tried;
   * else the order is resumed.
   */
  | { readonly kind: 'stalled'; readonly leaves: boolean }
  /** Nothing was issued, and no other CA would succeed. */
  | { readonly kind: 'over'; readonly code: IssuanceErrorCode; readonly final: boolean }
  /** The CA sent a time to retry. */
  | { readonly kind: 'wait'; readonly until: Date }
  /** The CA has issued, and does not have the certificate: the order is lost. */
  | { readonly kind: 'certificate_lost' }
  /** State unknown: the order is resumed after a back-off. */
  | { readonly kind: 'resume' }
  /** The download is not a certificate chain, and a retry does not change that. */
  | { readonly kind: 'unusable' };

const hourMs = 60 * 60_000;

/** Default delays without Retry-After: quotas refill within hours. */
const restMs = { limit: hourMs, min: 1_000 };

/** An open order waits this long for a limit before it moves to another CA, ms: as long as for a CA that is overloaded. */
const maxLimitMs = 5 * 60_000;

/** Consecutive failures after which a finalized order counts as gone: two hours of back-off. */
const failuresUntilGone = 3;

/** Errors that only a new CSR or other names can fix. */
const finalReasons: ReadonlySet<RefusalReason> = new Set([
  'badCSR',
  'badPublicKey',
  'rejectedIdentifier',
  'unsupportedIdentifier',
]);

export function isFinalProblem(reason: RefusalReason): boolean {
  return finalReasons.has(reason);
}

/** Decides how an error affects an order. Before finalize, moving to another CA costs nothing. */
export function classifyFault(fault: AcmeFault, context: FaultContext): FaultVerdict {
  const { stage, now } = context;
  if (isQuota(fault)) {
    const until = untilOf(fault, now);
    const isLong = until.getTime() - now.getTime() > maxLimitMs;
    return stage === 'wanted' || (stage === 'open' && context.hasOthers && isLong)
      ? { kind: 'elsewhere', code: 'rate_limited', until, final: false }
      : { kind: 'wait', until };
  }
  if (context.operation === 'certificate' && fault.lasting) return { kind: 'unusable' };
  if (isUnavailable(fault) || isConflict(fault, context)) {
    const leaves = stage === 'wanted' || (stage === 'open' && context.stalledBefore && context.hasOthers);
    return { kind: 'stalled', leaves };
  }
  return refused(fault, context);
}

/** The CA's Retry-After, but never 0, which would keep a worker busy. */
function untilOf(fault: AcmeFault, now: Date): Date {
  const requestedMs = fault.retryAt === null ? restMs.limit : fault.retryAt.getTime() - now.getTime();
  return new Date(now.getTime() + Math.max(requestedMs, restMs.min));
}

/** RFC 8555, section 6.6; 503 means overload, not a quota. */
function isQuota({ kind, status, problem }: AcmeFault): boolean {
  return kind === 'rate_limited' && (status !== 503 || problem?.type === 'rateLimited');
}

/** An unknown account is no failure of the order. */
function isUnavailable({ kind, status, problem }: AcmeFault): boolean {
  if (kind !== 'problem') return status !== 404 && status !== 410;
  if (problem?.type === 'accountDoesNotExist') return true;
  return problem?.type === 'serverInternal' || problem?.type === 'badNonce' || (status ?? 0) >= 500;
}

/** The CA works on the authorization at this moment; no problem type of RFC 8555 means that. */
function isConflict({ status }: AcmeFault, { operation }: FaultContext): boolean {
  return operation === 'respond' && status === 409;
}

const goneStatuses: ReadonlySet<number | null> = new Set([404, 410]);

function refused({ problem, status }: AcmeFault, { stage, operation, failures }: FaultContext): FaultVerdict {
  const type = problem?.type ?? 'other';
  const code = type === 'caa' ? 'caa_forbids' : 'ca_rejected';
  const final = isFinalProblem(type);
  if (stage === 'wanted') return { kind: 'elsewhere', code, until: null, final };
  const isGone = goneStatuses.has(status);
  // A lagging replica of the CA's database or a proxy may also return this: a finalized order is not abandoned after
  // the first such response.
  if (isGone && (operation === 'order' || operation === 'authorization'))
    return stage === 'open' || failures >= failuresUntilGone
      ? { kind: 'over', code: 'ca_unavailable', final: false }
      : { kind: 'resume' };
  if (isGone && operation === 'certificate' && failures >= failuresUntilGone)
    return { kind: 'certificate_lost' };
  // A CA that refuses to finalize has not issued (RFC 8555, section 7.4); without a problem document the response is
  // not from the CA.
  if (operation !== 'finalize' || problem === null) return { kind: 'resume' };
  return type === 'caa'
    ? { kind: 'elsewhere', code, until: null, final: false }
    : { kind: 'over', code, final };
}
