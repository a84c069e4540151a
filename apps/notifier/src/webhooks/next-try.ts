import type { EndpointHealth, TriedDelivery } from './delivery-lease';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** How long to wait after the first failed try, the second, and so on, ms; after the last one nothing is tried any more. */
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

/** Up to a tenth is added, so that what failed together is not tried together. */
const jitterShare = 0.1;

/** An endpoint may ask for patience, but not for more than a day. */
export const longestRetryAfterMs = 24 * hour;

/** An endpoint that has failed for so long, without one success in between, is switched off. */
const longestFailingMs = 5 * 24 * hour;

/**
 * Failures further apart than this are no lasting failure, since nothing was tried in between: the longest wait between two
 * tries (24 h and its jitter), and a margin for a platform that was down.
 */
const widestGapMs = 30 * hour;

/** How one try ended. */
export type TryOutcome =
  | { readonly kind: 'delivered' }
  /** 410: the endpoint says itself that it is no more. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'failed'; readonly retryAfterMs: number | null };

export interface Tried {
  /** Tries so far, this one included. */
  readonly attempts: number;
  /** A test event is tried once, and its failure is nobody's fault but shown in the log. */
  readonly isTest: boolean;
}

/**
 * What follows from a try, for the delivery and for its endpoint.
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
  if (now.getTime() - failing.failingSince.getTime() >= longestFailingMs) {
    return ended(failing, reasons.failingForDays);
  }
  const asked = Math.max(waitMs, outcome.retryAfterMs ?? 0);
  const dueAt = new Date(now.getTime() + Math.round(asked * (1 + jitterShare * random)));
  return { delivery: { state: 'pending', dueAt }, health: failing, disabledReason: null };
}

/** Shown to the account, in its mail and at the endpoint. */
export const reasons = {
  gone: 'The endpoint answered 410 Gone, which says that it wants no more deliveries.',
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
