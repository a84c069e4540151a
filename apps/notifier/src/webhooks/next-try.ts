import type { EndpointHealth, TriedDelivery } from './delivery-lease';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** Delay after the first failed attempt, the second, and so on, ms; no attempt follows the last one. */
export const retryWaitsMs: readonly number[] = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
];

/** Adds up to a tenth, so that simultaneous failures are not retried simultaneously. */
const jitterShare = 0.1;

/** Max Retry-After of an endpoint: a day. */
export const maxRetryAfterMs = 24 * hour;

/** An endpoint that has failed for this long, without one success in between, is disabled. */
const maxFailingMs = 5 * 24 * hour;

/**
 * Failures further apart than this do not count as lasting, since nothing was tried in between: the longest delay
 * between two attempts (24 h and its jitter), and a margin for an outage of the platform.
 */
const widestGapMs = 30 * hour;

/** Result of one attempt. */
export type TryOutcome =
  | { readonly kind: 'delivered' }
  /** 410: the endpoint reports that it no longer exists. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'failed'; readonly retryAfterMs: number | null };

export interface Tried {
  /** Attempts so far, including this one. */
  readonly attempts: number;
  /** A test event is tried once; its failure does not count, and is only logged. */
  readonly isTest: boolean;
}

/**
 * The outcome of an attempt, for the delivery and for its endpoint.
 *
 * @param random 0 to 1
 */
export function nextTry(
  { attempts, isTest }: Tried,
  outcome: TryOutcome,
  health: EndpointHealth,
  now: Date,
  random: number,
): TriedDelivery {
  if (outcome.kind === 'delivered') {
    return { delivery: { state: 'delivered' }, health: sound, disabledReason: null };
  }
  if (outcome.kind === 'gone') return ended(failingOn(health, now), reasons.gone);
  if (isTest) return ended(health, null);
  const failing = failingOn(health, now);
  const waitMs = retryWaitsMs[attempts - 1];
  if (waitMs === undefined) return ended(failing, reasons.outOfTries);
  if (now.getTime() - failing.failingSince.getTime() >= maxFailingMs) {
    return ended(failing, reasons.failingForDays);
  }
  const requestedMs = Math.max(waitMs, outcome.retryAfterMs ?? 0);
  const dueAt = new Date(now.getTime() + Math.round(requestedMs * (1 + jitterShare * random)));
  return { delivery: { state: 'pending', dueAt }, health: failing, disabledReason: null };
}

/** The failure was that of an address that the account has replaced meanwhile: the new one is tried now. */
export const atNewAddress = (health: EndpointHealth, now: Date): TriedDelivery => ({
  delivery: { state: 'pending', dueAt: now },
  health,
  disabledReason: null,
});

/** Shown to the account, in its mail and at the endpoint. */
export const reasons = {
  gone: 'The endpoint responded with 410 Gone: it does not accept deliveries any more.',
  outOfTries: `A delivery failed ${retryWaitsMs.length + 1} times, over more than three days.`,
  failingForDays: 'Every delivery failed for five days.',
} as const;

const sound: EndpointHealth = { failingSince: null, failedAt: null };

function failingOn(
  { failingSince, failedAt }: EndpointHealth,
  now: Date,
): { failingSince: Date; failedAt: Date } {
  const goesOn =
    failingSince !== null && failedAt !== null && now.getTime() - failedAt.getTime() <= widestGapMs;
  return { failingSince: goesOn ? failingSince : now, failedAt: now };
}

const ended = (health: EndpointHealth, disabledReason: string | null): TriedDelivery => ({
  delivery: { state: 'failed' },
  health,
  disabledReason,
});
