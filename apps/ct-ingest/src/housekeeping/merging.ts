import { clearMerged, type Merged, type MergeLane, mergeRuns } from '@certwright/ct-index';
import type { DataSource } from 'typeorm';

/** How long to rest once nothing is left to be merged, ms: a run comes with each commit, and large ones rarely. */
const restMs = { small: 500, large: 10_000 } as const satisfies Record<MergeLane, number>;

/** Space of so many blocks is cleared at once: some 8 MB. */
const deadBlocksAtATime = 8_192;

/**
 * Rounds that bring postings together, each as far as there is something to do; any number of processes may.
 *
 * @param stopping ends what is under way: a merge of minutes would hold up the end of the process
 */
export function merging(
  database: DataSource,
  now: () => Date,
  merged: (lane: MergeLane, what: Merged) => void,
  stopping: AbortSignal,
): Readonly<Record<string, () => Promise<number>>> {
  let deadBlocks = 0;
  const round = (lane: MergeLane) => async () => {
    const done = await mergeRuns(database, lane, now(), stopping);
    if (done === null) return restMs[lane];
    merged(lane, done);
    deadBlocks += done.deadBlocks;
    if (deadBlocks >= deadBlocksAtATime && !stopping.aborted) {
      deadBlocks = 0;
      await clearMerged(database);
    }
    return 0;
  };
  return { mergeSmall: round('small'), mergeLarge: round('large') };
}
