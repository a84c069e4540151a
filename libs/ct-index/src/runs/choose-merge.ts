import { type Home, type Run, young } from '@certwright/ct-schema';

/** So many runs of a level become one of the next: each posting is written again once for each level. */
export const fanOut = 8;

/** Runs of this level and above are merged apart, so that a merge of minutes delays none of milliseconds. */
const firstLargeLevel = 2;

/** A merge takes more than `fanOut` runs at once where many wait: so many at most, with so many postings. */
const most = { runs: 512, postings: 2_000_000 };

export type MergeLane = 'small' | 'large';

export interface Merge {
  /** Adjacent, in order of positions. */
  readonly sources: readonly Run[];
  readonly level: number;
  readonly home: Home;
}

/** What all runs of a partition become, at last. */
const lastLevel = 9;

/**
 * The next thing to merge; null: nothing is worth it.
 *
 * @param runs all of them, in order of positions
 * @param next the position that is given next: partitions that end there or before are full
 * @param today the first day by whose end something can expire that has not yet
 */
export function chooseMerge(
  runs: readonly Run[],
  lane: MergeLane,
  { next, today }: { next: number; today: number },
): Merge | null {
  const partitions = Map.groupBy(runs, ({ partition }) => partition);
  for (const [partition, within] of partitions) {
    const merge =
      partition > next
        ? mergeLevels(within, lane)
        : lane === 'large'
          ? settle(within, partition, today)
          : null;
    if (merge !== null) return merge;
  }
  return null;
}

/** The smallest level of which there are enough. */
function mergeLevels(runs: readonly Run[], lane: MergeLane): Merge | null {
  const levels = [...new Set(runs.map(({ level }) => level))].sort((one, other) => one - other);
  for (const level of levels) {
    if (level >= firstLargeLevel !== (lane === 'large')) continue;
    for (const stretch of stretches(runs, level)) {
      const sources = withinBounds(stretch, level);
      const count = sources.filter((run) => run.level === level).length;
      if (count >= fanOut) return { sources, level: level + levelsOf(count), home: young };
    }
  }
  return null;
}

/** Adjacent runs of the level and below it, from the first to the last one of the level. */
function stretches(runs: readonly Run[], level: number): Run[][] {
  const found: Run[][] = [[]];
  for (const run of runs) {
    if (run.level > level) found.push([]);
    else found.at(-1)?.push(run);
  }
  const isOfLevel = (run: Run) => run.level === level;
  return found.map((stretch) =>
    stretch.slice(stretch.findIndex(isOfLevel), stretch.findLastIndex(isOfLevel) + 1),
  );
}

/** As many from the first on as may be merged at once; never fewer than `fanOut` of the level. */
function withinBounds(stretch: readonly Run[], level: number): Run[] {
  const taken: Run[] = [];
  let postings = 0;
  let ofLevel = 0;
  for (const run of stretch) {
    postings += run.postings;
    if (ofLevel >= fanOut && (taken.length >= most.runs || postings > most.postings)) break;
    taken.push(run);
    if (run.level === level) ofLevel += 1;
  }
  return taken;
}

/** How many levels up so many runs make one. */
function levelsOf(count: number): number {
  return Math.floor(Math.log(count + 0.5) / Math.log(fanOut));
}

/** A partition that is full: all of its runs into one, in a table of its own; again when half of that has expired. */
function settle(runs: readonly Run[], partition: number, today: number): Merge | null {
  const isSettled = runs.length === 1 && runs[0]?.home === partition;
  const hasExpired = runs.some(({ halfExpiredDay }) => halfExpiredDay !== null && halfExpiredDay < today);
  return isSettled && !hasExpired ? null : { sources: runs, level: lastLevel, home: partition };
}
