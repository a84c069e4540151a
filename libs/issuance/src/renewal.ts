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

/** A replacement is due at a third of the lifetime left; short-lived certificates need half of it to try often enough. */
const leftShare = { usual: 1 / 3, shortLived: 1 / 2, shortLivedBelowMs: 10 * dayMs };

/** Certificates of one day of ordering are renewed over 3 % of their lifetime (2.7 days of 90), not in one minute. */
const jitterShare = 3 / 100;

/**
 * When a certificate is to be replaced. The jitter only brings it forward: never less than a third (or half) of the
 * lifetime is left, however it falls.
 *
 * @param jitter in [0, 1)
 */
export function renewalTime({ notBefore, notAfter }: Validity, jitter: number): Date {
  const lifetimeMs = notAfter.getTime() - notBefore.getTime();
  const share = lifetimeMs < leftShare.shortLivedBelowMs ? leftShare.shortLived : leftShare.usual;
  return new Date(Math.floor(notAfter.getTime() - lifetimeMs * (share + jitterShare * jitter)));
}

/**
 * When the term of a certificate is renewed that is the last one of it. The length of the term decides: a certificate that
 * is issued anew near the end of the term must not put off the renewal. The jitter only puts it off: nobody pays earlier
 * than announced, and 97 % of the time are left however it falls.
 *
 * @param termDays of the term that the certificate belongs to; null: of none
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

/** @returns null when nothing stands as paid for it */
function termDaysOf({ own, paid }: TermOfCertificate, termDays: number | null): number | null {
  return paid === null || (own !== null && own.product !== paid.product) ? null : termDays;
}

export interface NextReplacement {
  readonly renewAt: Date;
  /** The term pays for it: it is made also where nothing renews by itself. */
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
 * When a certificate is to be replaced for which its CA gave a window (RFC 9773, section 4.2): at a uniform random point of
 * it, and at once where that lies in the past. Chosen once for each window. A CA only brings a replacement forward: never
 * later than without a window.
 *
 * @param random in [0, 1)
 * @param latest renewalTime of the certificate
 */
export function renewalTimeIn(
  window: { readonly start: Date; readonly end: Date },
  random: number,
  now: Date,
  latest: Date,
): Date {
  const startMs = window.start.getTime();
  const pointMs = Math.floor(startMs + (window.end.getTime() - startMs) * random);
  return new Date(Math.max(Math.min(pointMs, latest.getTime()), now.getTime()));
}

/** RFC 9773, section 4.3: sooner counts as a minute, later as a day. */
const windowLook = { leastMs: minuteMs, mostMs: dayMs };

/**
 * When to ask a CA again that did not say when it would have a certificate replaced (RFC 9773, section 4.3.3).
 *
 * @param failures failures in a row, this one included
 * @param said as the CA asks for; null: it does not
 */
export function nextWindowLook(failures: number, now: Date, said: Date | null): Date {
  const backoffMs = windowLook.leastMs * 4 ** Math.min(failures - 1, 8);
  const askedMs = said === null ? 0 : said.getTime() - now.getTime();
  const waitMs = Math.min(Math.max(backoffMs, askedMs, windowLook.leastMs), windowLook.mostMs);
  return new Date(now.getTime() + waitMs);
}

/** What is known when the renewal time of a plan has come that is neither paused nor closed. */
export interface RenewalFacts extends RenewalTerms {
  readonly autoRenew: boolean;
  /** The open issuance of the plan, whatever it was opened for. */
  readonly open: Pick<Issuance, 'openedAt'> | null;
  /** Null: none that is valid. */
  readonly current:
    | (Pick<Certificate, 'id' | 'notBefore' | 'notAfter'> & {
        /** End of the window in which its CA would have it replaced; null: it gave none. */
        readonly windowEnd: Date | null;
      })
    | null;
  /** What became of earlier attempts at replacing the current certificate. */
  readonly replacement: {
    readonly issued: boolean;
    /** Attempts that ended for good without a certificate. */
    readonly failures: number;
    /** End of the newest of them. */
    readonly failedAt: Date | null;
  };
}

/** `lookAgainAt`: when to see what became of it. */
export type RenewalDecision =
  | (CoveredReplacement & { readonly kind: 'replace'; readonly lookAgainAt: Date })
  /** By buying a term for the present terms. */
  | { readonly kind: 'purchase'; readonly lookAgainAt: Date }
  | { readonly kind: 'wait'; readonly lookAgainAt: Date }
  /** Nobody wants it renewed, and no term covers a replacement. */
  | { readonly kind: 'unwanted' }
  /** Nothing is to be done until another certificate becomes the current one. */
  | { readonly kind: 'rest' };

/** Decides about one plan whose renewal time has come. */
export function renewalDecision(facts: RenewalFacts, now: Date): RenewalDecision {
  const { open, current, replacement } = facts;
  if (current === null || replacement.issued) return { kind: 'rest' };
  if (open !== null) return { kind: 'wait', lookAgainAt: nextLook(open.openedAt, now) };
  if (facts.present === null) return { kind: 'wait', lookAgainAt: new Date(now.getTime() + look.mostMs) };
  const { failures, failedAt } = replacement;
  const until = failedAt === null ? now : nextAttempt(failures, failedAt, current.notAfter);
  if (until.getTime() > now.getTime()) return { kind: 'wait', lookAgainAt: until };
  return wayOf(facts, facts.present, current, now);
}

/** In which way a certificate is replaced now. */
function wayOf(
  facts: RenewalFacts,
  present: PresentTerms,
  current: NonNullable<RenewalFacts['current']>,
  now: Date,
): RenewalDecision {
  const lookAgainAt = nextLook(now, now);
  // Without `auto_renew` its owner decides when what was changed is issued: until then what was issued is issued again.
  const covered = coveredReplacement({ ...facts, present: facts.autoRenew ? present : null }, now);
  if (covered !== null && endsWithinTerm(current, facts)) return { kind: 'replace', ...covered, lookAgainAt };
  if (!facts.autoRenew) return { kind: 'unwanted' };
  if (present.termDays === null)
    return { kind: 'replace', termsId: present.id, expiresBy: null, lookAgainAt };
  const purchaseAt = purchaseTime(current, termDaysOf(facts, present.termDays), renewalJitter(current.id));
  if (purchaseAt.getTime() <= now.getTime()) {
    // Nobody pays for what nobody issues.
    if (!present.isAvailable) return { kind: 'wait', lookAgainAt: new Date(now.getTime() + look.mostMs) };
    return { kind: 'purchase', lookAgainAt: new Date(now.getTime() + look.mostMs) };
  }
  const { windowEnd } = current;
  // A CA that is about to revoke it does not wait until a term is to be bought.
  if (covered !== null && windowEnd !== null && windowEnd.getTime() < purchaseAt.getTime()) {
    return { kind: 'replace', ...covered, lookAgainAt };
  }
  return { kind: 'wait', lookAgainAt: purchaseAt };
}

/** An open issuance is looked at after a quarter of its age, so many that wait for approval cost little; as soon as the first back-off. */
const look = { shareOfAge: 1 / 4, leastMs: minuteMs, mostMs: 60 * minuteMs };

function nextLook(openedAt: Date, now: Date): Date {
  const ageMs = now.getTime() - openedAt.getTime();
  return new Date(now.getTime() + Math.min(Math.max(ageMs * look.shareOfAge, look.leastMs), look.mostMs));
}
