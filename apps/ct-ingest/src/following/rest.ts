import { takesNothing } from '@certwright/ct';

/** The first rest after a failure, and the longest, ms. */
const firstMs = 1_000;
const longestMs = 15 * 60_000;

/** However long a log asks us to stay away, we look again after this time, ms. */
const longestRetryAfterMs = 3_600_000;

/** A shard that takes nothing any more and has been read to its end, ms. */
const closedShardMs = 6 * 3_600_000;

/** Half of it to one and a half of it: copies and logs drift apart. */
function jittered(ms: number, random: () => number): number {
  return Math.round(ms * (0.5 + random()));
}

/** @param failures in a row, this one included */
export function restAfterFailure(
  failures: number,
  retryAfterMs: number | null,
  random: () => number,
): number {
  const backOffMs = Math.min(longestMs, firstMs * 2 ** Math.min(20, failures - 1));
  return Math.max(jittered(backOffMs, random), Math.min(longestRetryAfterMs, retryAfterMs ?? 0));
}

export interface Shard {
  readonly intervalEnd: Date | null;
  readonly listState: string;
}

/** Before a log whose entries are all ingested is asked again. */
export function restOfFollowed(
  shard: Shard,
  pollIntervalMs: number,
  nowMs: number,
  random: () => number,
): number {
  return takesNothing(shard, nowMs) ? jittered(closedShardMs, random) : jittered(pollIntervalMs, random);
}
