import type { CurrentCertificate, EndpointAdvance } from '@certwright/endpoint-checks';
import type { Config } from '../config';

export type Intervals = Pick<Config, 'ENDPOINT_CHECK_EVERY' | 'ENDPOINT_CONFIRM_EVERY'>;

const dayMs = 86_400_000;

/** A name that is gone for this long is checked as rarely, ms. */
const goneAfterMs = 7 * dayMs;

/** How long a newer certificate may wait for its installation, ms. */
export const notCurrentAfterMs = dayMs;

/** Wait after a check without a result, doubled with each further one, ms. */
const retryMs = 60_000;
const maxRetryMs = 60 * 60_000;

/** Uniform within a tenth, so that checks that began together spread over time. */
const jittered = (ms: number, random: number): number => ms * (0.9 + 0.2 * random);

/** @param random in [0, 1) */
export function regularCheck(now: Date, { ENDPOINT_CHECK_EVERY }: Intervals, random: number): Date {
  return new Date(now.getTime() + jittered(ENDPOINT_CHECK_EVERY, random));
}

/** @param attempts without a result, in a row, at least one */
export function checkAfterAttempts(
  attempts: number,
  now: Date,
  { ENDPOINT_CHECK_EVERY, ENDPOINT_CONFIRM_EVERY }: Intervals,
  random: number,
): Date {
  // The first wait is shorter where everything is.
  const firstMs = Math.min(retryMs, ENDPOINT_CONFIRM_EVERY);
  const waitMs = Math.min(firstMs * 2 ** Math.min(attempts - 1, 20), maxRetryMs, ENDPOINT_CHECK_EVERY);
  return new Date(now.getTime() + jittered(waitMs, random));
}

export interface LastCheck {
  readonly isOpen: EndpointAdvance['isOpen'];
  /** Null: a server presents a certificate. */
  readonly goneSince: Date | null;
  readonly current: readonly CurrentCertificate[];
}

/** After a check with a result. */
export function nextCheck(
  { isOpen, goneSince, current }: LastCheck,
  now: Date,
  intervals: Intervals,
  random: number,
): Date {
  const nowMs = now.getTime();
  // 8 to 10 minutes: three checks are within half an hour, whatever a check takes.
  if (isOpen) return new Date(nowMs + intervals.ENDPOINT_CONFIRM_EVERY * (8 / 9 + (2 / 9) * random));
  if (goneSince !== null && nowMs - goneSince.getTime() >= goneAfterMs)
    return new Date(nowMs + jittered(goneAfterMs, random));
  // A certificate that must be installed by then is found missing at once, and not hours later.
  const deadlines = current
    .map(({ issuedAt }) => issuedAt.getTime() + notCurrentAfterMs)
    .filter((deadlineMs) => deadlineMs > nowMs)
    .map((deadlineMs) => deadlineMs + random * intervals.ENDPOINT_CONFIRM_EVERY);
  return new Date(Math.min(regularCheck(now, intervals, random).getTime(), ...deadlines));
}
