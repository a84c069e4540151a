import { backdatingMs, wholeSeconds } from './ca-creation';

const dayMs = 24 * 60 * 60 * 1_000;

export interface Validity {
  readonly notBefore: Date;
  /** The last second of validity (RFC 5280, 4.1.2.5). */
  readonly notAfter: Date;
}

/**
 * Whole seconds, as certificates know no fractions. What is sold by time lasts its whole lifetime from now on, the hour of
 * backdating on top, so that a year that was paid for is a year; and whatever is issued again in it ends in the same second.
 *
 * @param expiresBy end of what was paid for; null: nothing is sold by time
 */
export function validityFrom(now: Date, lifetimeDays: number, expiresBy: Date | null): Validity {
  const notBefore = wholeSeconds(new Date(now.getTime() - backdatingMs));
  // The last second belongs to the validity, so a lifetime of n days ends a second earlier (Baseline Requirements 1.6.1).
  if (expiresBy === null)
    return { notBefore, notAfter: new Date(notBefore.getTime() + lifetimeDays * dayMs - 1_000) };
  const wholeLifeMs = now.getTime() + lifetimeDays * dayMs;
  const notAfter = wholeSeconds(new Date(Math.min(wholeLifeMs, expiresBy.getTime())));
  // Nobody is to ask for that: the walk of an issuance ends before.
  if (notAfter.getTime() <= now.getTime())
    throw new Error(`nothing is issued that ends ${notAfter.toISOString()}`);
  return { notBefore, notAfter };
}
