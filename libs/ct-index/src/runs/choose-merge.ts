import { type Home, type Run, young } from '@certwright/ct-schema';

/**
 * Number of runs of a level that are merged to one of the next. Each posting is rewritten once per level, and each search reads
 * every run: with eight, 60,000 commits would leave 18 runs instead of 12 on average, and rewrite postings 4.5 instead of 6.7 times.
 */
export const fanOut = 4;

/** Runs of this level and above are merged separately, so that a merge of minutes does not delay short ones. */
const firstLargeLevel = 3;

/** If many runs wait, a merge takes more than `fanOut` at once: at most this many, with this many postings. */
const max = { runs: 512, postings: 2_000_000 };

export type MergeLane = 'small' | 'large';

export interface Merge {
  /** Adjacent, ordered by position. */
  readonly sources: readonly Run[];
  readonly level: number;
  readonly home: Home;
}

/** The final run of a partition. */
const lastLevel = 9;

/**
 * The next merge; null: none is worthwhile.
 *
 * @param runs all of them, ordered by position
 * @param next the next position: partitions that end there or before are full
 * @param today the first day by whose end an unexpired posting can expire
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

/** The smallest level with enough runs. */
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

/** Adjacent runs of the level and below it, between the first and the last one of the level. */
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

/** As many, starting with the first, as may be merged at once; at least `fanOut` of the level. */
function withinBounds(stretch: readonly Run[], level: number): Run[] {
  const taken: Run[] = [];
  let postings = 0;
  let ofLevel = 0;
  for (const run of stretch) {
    postings += run.postings;
    if (ofLevel >= fanOut && (taken.length >= max.runs || postings > max.postings)) break;
    taken.push(run);
    if (run.level === level) ofLevel += 1;
  }
  return taken;
}

/** Number of levels by which merging this many runs rises. */
function levelsOf(count: number): number {
  return Math.floor(Math.log(count + 0.5) / Math.log(fanOut));
}

/** A full partition: merges all of its runs into one, in a separate table; again when half of that has expired. */
function settle(runs: readonly Run[], partition: number, today: number): Merge | null {
  const isSettled = runs.length === 1 && runs[0]?.home === partition;
  const hasExpired = runs.some(({ halfExpiredDay }) => halfExpiredDay !== null && halfExpiredDay < today);
  return isSettled && !hasExpired ? null : { sources: runs, level: lastLevel, home: partition };
}
