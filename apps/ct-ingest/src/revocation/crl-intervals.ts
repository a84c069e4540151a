/** First rest after a failure, and max rest of a list that was never accepted, ms. */
const firstRestMs = 60_000;
export const maxRestMs = 86_400_000;

/** Max rest of a host, ms: one request is sent then; its lists may soon be out of date. */
export const maxHostRestMs = 3_600_000;

/** Max rest, whatever Retry-After the server sends, ms. */
const maxRetryAfterMs = 86_400_000;

/** Max share by which the interval is shortened at random, so that lists do not synchronize. Never lengthened: the max is a bound. */
const jitter = 0.2;

/**
 * Max delay of the request after a next update: CAs publish some seconds late, and lists with the same next update must
 * not be requested at once. ms, and share of the max interval
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
 * CAs publish lists before the next update of the previous one, so a list is requested every `maxMs`, or shortly after its next
 * update if that is earlier. Never earlier than `minMs`.
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

/** @param failures consecutive, including this one */
export function restAfterFailure(
  failures: number,
  maxRetryMs: number,
  retryAfterMs: number | null,
  random: () => number,
): number {
  const backOffMs = Math.min(maxRetryMs, firstRestMs * 2 ** Math.min(20, failures - 1));
  return Math.max(jittered(backOffMs, random), Math.min(maxRetryAfterMs, retryAfterMs ?? 0));
}
