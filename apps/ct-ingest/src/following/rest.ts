import { takesNothing } from '@certwright/ct';

/** First and max rest after a failure, ms. */
const firstMs = 1_000;
const maxMs = 15 * 60_000;

/** Max rest, whatever Retry-After the log sends, ms. */
const maxRetryAfterMs = 3_600_000;

/** Rest of a shard that accepts no more submissions and was read to its end, ms. */
const closedShardMs = 6 * 3_600_000;

/** Random factor from 0.5 to 1.5, so that copies and logs do not synchronize. */
function jittered(ms: number, random: () => number): number {
  return Math.round(ms * (0.5 + random()));
}

/** @param failures consecutive, including this one */
export function restAfterFailure(
  failures: number,
  retryAfterMs: number | null,
  random: () => number,
): number {
  const backOffMs = Math.min(maxMs, firstMs * 2 ** Math.min(20, failures - 1));
  return Math.max(jittered(backOffMs, random), Math.min(maxRetryAfterMs, retryAfterMs ?? 0));
}

export interface Shard {
  readonly intervalEnd: Date | null;
  readonly listState: string;
}

/** Rest of a log whose entries are all ingested. */
export function restOfFollowed(
  shard: Shard,
  pollIntervalMs: number,
  nowMs: number,
  random: () => number,
): number {
  return takesNothing(shard, nowMs) ? jittered(closedShardMs, random) : jittered(pollIntervalMs, random);
}
