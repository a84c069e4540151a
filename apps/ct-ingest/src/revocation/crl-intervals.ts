/** The first rest after a failure, and the longest of a list that never came, ms. */
const firstRestMs = 60_000;
export const longestRestMs = 86_400_000;

/** The longest of a host, ms: it is asked once then, and what it had may run out soon. */
export const longestHostRestMs = 3_600_000;

/** However long a server asks us to stay away, we look again after this time, ms. */
const longestRetryAfterMs = 86_400_000;

/** How much earlier or later than computed, as a share: copies and lists drift apart. */
const jitter = 0.1;

function jittered(ms: number, random: () => number): number {
  return Math.round(ms * (1 - jitter + 2 * jitter * random()));
}

export interface CrlIntervals {
  readonly minMs: number;
  readonly maxMs: number;
}

/** Lists come more often than they must, so nobody waits for the next update; but when one is due, it is looked for. */
export function restOfCurrent(
  nextUpdateMs: number | null,
  { minMs, maxMs }: CrlIntervals,
  nowMs: number,
  random: () => number,
): number {
  const untilNextMs = nextUpdateMs === null ? maxMs : nextUpdateMs - nowMs;
  return jittered(Math.max(minMs, Math.min(maxMs, untilNextMs)), random);
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
