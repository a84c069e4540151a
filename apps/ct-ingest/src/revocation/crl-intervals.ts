/** The first rest after a failure, and the longest of a list that never came, ms. */
const firstRestMs = 60_000;
export const longestRestMs = 86_400_000;

/** The longest of a host, ms: it is asked once then, and what it had may run out soon. */
export const longestHostRestMs = 3_600_000;

/** However long a server asks us to stay away, we look again after this time, ms. */
const longestRetryAfterMs = 86_400_000;

/** How much earlier than computed, as a share, so that lists drift apart. Never later: the maximum interval is a bound. */
const jitter = 0.2;

/**
 * How long after a next update the list is requested, at most: CAs publish some seconds late, and lists with the same next update must
 * not be requested at once. ms, and share of the maximum interval
 */
const afterNextUpdate = { ms: 60_000, share: 0.1 };

function jittered(ms: number, random: () => number): number {
  return Math.round(ms * (1 - jitter * random()));
}

export interface CrlIntervals {
  readonly minMs: number;
  readonly maxMs: number;
}

/**
 * CAs publish lists before the next update that the last one names, so a list is requested every `maxMs`; and shortly after its next
 * update if that comes first. Never sooner than `minMs`.
 */
export function restOfCurrent(
  nextUpdateMs: number | null,
  { minMs, maxMs }: CrlIntervals,
  nowMs: number,
  random: () => number,
): number {
  const untilNextMs = (nextUpdateMs ?? Infinity) - nowMs;
  const afterMs = Math.min(afterNextUpdate.ms, afterNextUpdate.share * maxMs);
  const wantedMs = untilNextMs + afterMs > maxMs ? jittered(maxMs, random) : untilNextMs + afterMs * random();
  return Math.max(minMs, Math.round(wantedMs));
}

/** @param failures in a row, this one included */
export function restAfterFailure(
  failures: number,
  longestMs: number,
  retryAfterMs: number | null,
  random: () => number,
): number {
  const backOffMs = Math.min(longestMs, firstRestMs * 2 ** Math.min(20, failures - 1));
  return Math.max(jittered(backOffMs, random), Math.min(longestRetryAfterMs, retryAfterMs ?? 0));
}
