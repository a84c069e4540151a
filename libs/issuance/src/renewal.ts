import type { Certificate } from './certificate';
import type { Issuance } from './issuance';
import { renewalLeadMs } from './purchase';
import {
  type CoveredReplacement,
  coveredReplacement,
  endsWithinTerm,
  type PresentTerms,
  type RenewalTerms,
  type TermOfCertificate,
} from './renewal-terms';
import { nextAttempt } from './schedule';

type Validity = Pick<Certificate, 'notBefore' | 'notAfter'>;

const minuteMs = 60_000;
const dayMs = 1_440 * minuteMs;

/**
 * A replacement is due when a third of the lifetime is left; short-lived certificates need half of it for enough
 * attempts.
 */
const leftShare = { usual: 1 / 3, shortLived: 1 / 2, shortLivedBelowMs: 10 * dayMs };

/** Certificates of one day of ordering are renewed over 3 % of their lifetime (2.7 days of 90), not in one minute. */
const jitterShare = 3 / 100;

/**
 * When a certificate is replaced. The jitter only moves it earlier: at least a third (or half) of the lifetime is
 * left.
 *
 * @param jitter in [0, 1)
 */
export function renewalTime({ notBefore, notAfter }: Validity, jitter: number): Date {
  const lifetimeMs = notAfter.getTime() - notBefore.getTime();
  const share = lifetimeMs < leftShare.shortLivedBelowMs ? leftShare.shortLived : leftShare.usual;
  return new Date(Math.floor(notAfter.getTime() - lifetimeMs * (share + jitterShare * jitter)));
}

/**
 * When a term is renewed, for the last certificate of the term. The length of the term decides: a certificate that is
 * reissued near the end of the term must not delay the renewal. The jitter only moves it later: no customer pays
 * earlier than announced, and at least 97 % of the time are left.
 *
 * @param termDays of the term that the certificate belongs to; null: none
 * @param jitter in [0, 1)
 */
export function purchaseTime(
  { notBefore, notAfter }: Validity,
  termDays: number | null,
  jitter: number,
): Date {
  const lastingMs = termDays === null ? notAfter.getTime() - notBefore.getTime() : termDays * dayMs;
  const leadMs = renewalLeadMs(lastingMs);
  return new Date(Math.floor(notAfter.getTime() - leadMs * (1 - jitterShare * jitter)));
}

/** @returns null without a paid term */
function termDaysOf({ own, paid }: TermOfCertificate, termDays: number | null): number | null {
  return paid === null || (own !== null && own.product !== paid.product) ? null : termDays;
}

export interface NextReplacement {
  readonly renewAt: Date;
  /** Paid by the term: made even without automatic renewal. */
  readonly isPaid: boolean;
}

/** When a certificate that has just become the current one is to be replaced. */
export function nextReplacement(
  current: Validity & Pick<Certificate, 'id'>,
  { own, paid, termDays }: TermOfCertificate & Pick<PresentTerms, 'termDays'>,
): NextReplacement {
  const jitter = renewalJitter(current.id);
  const isPaid = endsWithinTerm(current, { own, paid });
  const renewAt =
    termDays === null || isPaid
      ? renewalTime(current, jitter)
      : purchaseTime(current, termDaysOf({ own, paid }, termDays), jitter);
  return { renewAt, isPaid };
}

/** Ids of certificates are random 48-bit integers: their last 20 bits are a jitter that a certificate keeps. */
export function renewalJitter(certificateId: string): number {
  const bits = 20n;
  return Number(BigInt.asUintN(Number(bits), BigInt(certificateId))) / Number(1n << bits);
}

/**
 * When a certificate with a renewal window of its CA (RFC 9773, section 4.2) is replaced: at a uniform random point
 * of the window, and at once if that lies in the past. Chosen once per window. A CA can only move a replacement
 * earlier, never later than without a window.
 *
 * @param random in [0, 1)
 * @param earliest from `earliestRenewal`
 * @param latest renewalTime of the certificate
 */
export function renewalTimeIn(
  window: RenewalWindow,
  random: number,
  now: Date,
  { earliest, latest }: { readonly earliest: Date; readonly latest: Date },
): Date {
  const startMs = window.start.getTime();
  const pointMs = Math.floor(startMs + (window.end.getTime() - startMs) * random);
  const boundedMs = Math.min(Math.max(pointMs, earliest.getTime()), latest.getTime());
  return new Date(Math.max(boundedMs, now.getTime()));
}

interface RenewalWindow {
  readonly start: Date;
  readonly end: Date;
}

/** CAs suggest renewals after half of the lifetime or later. */
const minAgeShare = 1 / 3;

/**
 * The earliest time for a replacement in a window. A window in the past means at once (RFC 9773, section 4.2). But a CA whose
 * windows are always in the past would have every new certificate replaced at once, so that after an early replacement
 * a third of the lifetime has to pass, unless the CA brings forward a window that has not passed.
 *
 * @param previous the CA's window before this one; null: none
 */
export function earliestRenewal(
  { notBefore, notAfter, replacedEarly }: Validity & { readonly replacedEarly: boolean },
  window: RenewalWindow,
  previous: RenewalWindow | null,
  now: Date,
): Date {
  if (!replacedEarly) return now;
  if (previous !== null && previous.end > now && window.start < previous.start) return now;
  const lifetimeMs = notAfter.getTime() - notBefore.getTime();
  return new Date(notBefore.getTime() + lifetimeMs * minAgeShare);
}

/** RFC 9773, section 4.3: sooner counts as a minute, later as a day. */
const windowLook = { minMs: minuteMs, maxMs: dayMs };

/**
 * When to query a CA again that did not suggest a renewal time (RFC 9773, section 4.3.3).
 *
 * @param failures failures in a row, this one included
 * @param said the delay that the CA requests; null: none
 */
export function nextWindowLook(failures: number, now: Date, said: Date | null): Date {
  const backoffMs = windowLook.minMs * 4 ** Math.min(failures - 1, 8);
  const requestedMs = said === null ? 0 : said.getTime() - now.getTime();
  const waitMs = Math.min(Math.max(backoffMs, requestedMs, windowLook.minMs), windowLook.maxMs);
  return new Date(now.getTime() + waitMs);
}

/** How long after its end a certificate without a successor is still replaced: an outage may have lasted beyond it. */
export const lapsedDays = 30;

/** Inputs when the renewal time of a plan has come that is neither paused nor closed. */
export interface RenewalInputs extends RenewalTerms {
  readonly autoRenew: boolean;
  /** The open issuance of the plan, whatever it was opened for. */
  readonly open: Pick<Issuance, 'openedAt'> | null;
  /** The current one, or the last one if it has expired without a successor within `lapsedDays`. Null: none of them. */
  readonly current:
    | (Pick<Certificate, 'id' | 'notBefore' | 'notAfter'> & {
        /** End of the renewal window of its CA; null: none. */
        readonly windowEnd: Date | null;
      })
    | null;
  /** Outcome of earlier attempts to replace the current certificate. */
  readonly replacement: {
    readonly issued: boolean;
    /** Attempts that ended without a certificate. */
    readonly failures: number;
    /** End of the newest of them. */
    readonly failedAt: Date | null;
  };
  /** Null: the owner of the plan makes no new keys. */
  readonly newKey: NewKeyInputs | null;
}

/** Inputs of a plan whose owner makes keys. */
export interface NewKeyInputs {
  /** A renewal requests a new key first. */
  readonly atRenewal: boolean;
  /** The present terms have the key of the current certificate. */
  readonly isKeyOfCurrent: boolean;
  /** The pending request for a new key; null: none. */
  readonly request: {
    readonly dueAt: Date;
    /** When the renewal goes on with the present key; null: it was requested for another reason. */
    readonly fallsBackAt: Date | null;
  } | null;
}

/** `lookAgainAt`: when to check the result. */
export type RenewalDecision =
  | (CoveredReplacement & { readonly kind: 'replace'; readonly lookAgainAt: Date })
  /** By buying a term for the present terms. */
  | { readonly kind: 'purchase'; readonly lookAgainAt: Date }
  /** The owner of the plan is to make a new key; a renewal without it follows at `lookAgainAt`. */
  | { readonly kind: 'request_key'; readonly lookAgainAt: Date }
  | { readonly kind: 'wait'; readonly lookAgainAt: Date }
  /** Automatic renewal is off, and no term covers a replacement. */
  | { readonly kind: 'unwanted' }
  /** No action until another certificate becomes the current one. */
  | { readonly kind: 'rest' };

/** Decides about one plan whose renewal is due. */
export function renewalDecision(inputs: RenewalInputs, now: Date): RenewalDecision {
  const { open, current, replacement } = inputs;
  if (current === null || replacement.issued) return { kind: 'rest' };
  if (open !== null) return { kind: 'wait', lookAgainAt: nextLook(open.openedAt, now) };
  if (inputs.present === null) return { kind: 'wait', lookAgainAt: new Date(now.getTime() + look.maxMs) };
  const { failures, failedAt } = replacement;
  const hasLapsed = current.notAfter.getTime() <= now.getTime();
  const until =
    failedAt === null ? now : nextAttempt(failures, failedAt, hasLapsed ? null : current.notAfter);
  if (until.getTime() > now.getTime()) return { kind: 'wait', lookAgainAt: until };
  return afterNewKey(wayOf(inputs, inputs.present, current, now), inputs, current, now);
}

/** A new key is awaited for an hour, and never longer than a tenth of the remaining time. */
const keyPatience = { maxMs: 60 * minuteMs, shareOfRemaining: 1 / 10 };

/**
 * A renewal by the present terms waits for a new key. Paid terms that are issued again while changes of the owner are
 * not paid keep their key.
 */
function afterNewKey(
  decision: RenewalDecision,
  { newKey, present, autoRenew }: RenewalInputs,
  { notAfter }: NonNullable<RenewalInputs['current']>,
  now: Date,
): RenewalDecision {
  const isByPresentTerms =
    decision.kind === 'purchase' || (decision.kind === 'replace' && decision.termsId === present?.id);
  if (!isByPresentTerms || !autoRenew || newKey === null || !newKey.isKeyOfCurrent) return decision;
  // Servers present an expired certificate: a new key can follow later.
  if (notAfter.getTime() <= now.getTime()) return decision;
  const { maxMs, shareOfRemaining } = keyPatience;
  const patienceMs = Math.min(maxMs, (notAfter.getTime() - now.getTime()) * shareOfRemaining);
  const { request } = newKey;
  if (request === null) {
    if (!newKey.atRenewal) return decision;
    return { kind: 'request_key', lookAgainAt: new Date(now.getTime() + patienceMs) };
  }
  const until = request.fallsBackAt ?? new Date(request.dueAt.getTime() + patienceMs);
  return until.getTime() > now.getTime() ? { kind: 'wait', lookAgainAt: until } : decision;
}

/** In which way a certificate is replaced now. */
function wayOf(
  inputs: RenewalInputs,
  present: PresentTerms,
  current: NonNullable<RenewalInputs['current']>,
  now: Date,
): RenewalDecision {
  const lookAgainAt = nextLook(now, now);
  // Without `auto_renew` the owner decides when changes are issued: until then the previous terms are issued again.
  const covered = coveredReplacement({ ...inputs, present: inputs.autoRenew ? present : null }, now);
  if (covered !== null && endsWithinTerm(current, inputs))
    return { kind: 'replace', ...covered, lookAgainAt };
  if (!inputs.autoRenew) return { kind: 'unwanted' };
  if (present.termDays === null)
    return { kind: 'replace', termsId: present.id, expiresBy: null, lookAgainAt };
  // No account is charged for what it may have given up.
  if (current.notAfter.getTime() <= now.getTime()) return { kind: 'rest' };
  const purchaseAt = purchaseTime(current, termDaysOf(inputs, present.termDays), renewalJitter(current.id));
  if (purchaseAt.getTime() <= now.getTime()) {
    // What cannot be issued is not charged.
    if (!present.isAvailable) return { kind: 'wait', lookAgainAt: new Date(now.getTime() + look.maxMs) };
    return { kind: 'purchase', lookAgainAt: new Date(now.getTime() + look.maxMs) };
  }
  const { windowEnd } = current;
  // A CA that is about to revoke it does not wait for the purchase of a term.
  if (covered !== null && windowEnd !== null && windowEnd.getTime() < purchaseAt.getTime()) {
    return { kind: 'replace', ...covered, lookAgainAt };
  }
  return { kind: 'wait', lookAgainAt: purchaseAt };
}

/**
 * An open issuance is checked after a quarter of its age, so many pending approvals cost little; at the earliest
 * after the first back-off.
 */
const look = { shareOfAge: 1 / 4, minMs: minuteMs, maxMs: 60 * minuteMs };

function nextLook(openedAt: Date, now: Date): Date {
  const ageMs = now.getTime() - openedAt.getTime();
  return new Date(now.getTime() + Math.min(Math.max(ageMs * look.shareOfAge, look.minMs), look.maxMs));
}
