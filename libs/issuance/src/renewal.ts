import type { Certificate } from './certificate';
import type { Issuance } from './issuance';
import { nextAttempt } from './schedule';

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
export function renewalTime(
  { notBefore, notAfter }: Pick<Certificate, 'notBefore' | 'notAfter'>,
  jitter: number,
): Date {
  const lifetimeMs = notAfter.getTime() - notBefore.getTime();
  const share = lifetimeMs < leftShare.shortLivedBelowMs ? leftShare.shortLived : leftShare.usual;
  return new Date(Math.floor(notAfter.getTime() - lifetimeMs * (share + jitterShare * jitter)));
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

/** What is known when the renewal time of a plan has come that renews by itself and is neither paused nor closed. */
export interface RenewalFacts {
  /** Null while there is nothing to issue from: the CSR is missing. */
  readonly termsId: string | null;
  /** The open issuance of the plan, whatever it was opened for. */
  readonly open: Pick<Issuance, 'openedAt'> | null;
  /** Null: none that is valid. */
  readonly current: Pick<Certificate, 'notAfter'> | null;
  /** What became of earlier attempts at replacing the current certificate. */
  readonly replacement: {
    readonly issued: boolean;
    /** Attempts that ended for good without a certificate. */
    readonly failures: number;
    /** End of the newest of them. */
    readonly failedAt: Date | null;
  };
}

export type RenewalDecision =
  /** `lookAgainAt`: when to see what became of it. */
  | { readonly kind: 'replace'; readonly lookAgainAt: Date }
  | { readonly kind: 'wait'; readonly lookAgainAt: Date }
  /** Nothing is to be done until another certificate becomes the current one. */
  | { readonly kind: 'rest' };

/** Decides about one plan whose renewal time has come. */
export function renewalDecision(
  { termsId, open, current, replacement }: RenewalFacts,
  now: Date,
): RenewalDecision {
  if (current === null || replacement.issued) return { kind: 'rest' };
  if (open !== null) return { kind: 'wait', lookAgainAt: nextLook(open.openedAt, now) };
  if (termsId === null) return { kind: 'wait', lookAgainAt: new Date(now.getTime() + look.mostMs) };
  const { failures, failedAt } = replacement;
  const until = failedAt === null ? now : nextAttempt(failures, failedAt, current.notAfter);
  if (until.getTime() > now.getTime()) return { kind: 'wait', lookAgainAt: until };
  return { kind: 'replace', lookAgainAt: nextLook(now, now) };
}

/** An open issuance is looked at after a quarter of its age, so many that wait for approval cost little; as soon as the first back-off. */
const look = { shareOfAge: 1 / 4, leastMs: minuteMs, mostMs: 60 * minuteMs };

function nextLook(openedAt: Date, now: Date): Date {
  const ageMs = now.getTime() - openedAt.getTime();
  return new Date(now.getTime() + Math.min(Math.max(ageMs * look.shareOfAge, look.leastMs), look.mostMs));
}
