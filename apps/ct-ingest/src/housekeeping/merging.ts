import { type Merged, type MergeLane, mergeRuns } from '@certwright/ct-index';
import type { DataSource } from 'typeorm';

/** Rest when there is nothing to merge, ms: each commit adds a run, and large runs are rare. */
const restMs = { small: 500, large: 10_000 } as const satisfies Record<MergeLane, number>;

/**
 * Rounds that merge postings, each until nothing is left; multiple processes may run this.
 *
 * @param stopping aborts the current merge: one of minutes would delay the shutdown
 */
export function merging(
  database: DataSource,
  now: () => Date,
  merged: (lane: MergeLane, what: Merged) => void,
  stopping: AbortSignal,
): Readonly<Record<string, () => Promise<number>>> {
  const round = (lane: MergeLane) => async () => {
    const done = await mergeRuns(database, lane, now(), stopping);
    if (done === null) return restMs[lane];
    merged(lane, done);
    return 0;
  };
  return { mergeSmall: round('small'), mergeLarge: round('large') };
}
