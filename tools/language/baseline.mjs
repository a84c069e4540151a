// @ts-check
// The number of listed words that each project had when it was last counted. It may only become smaller.

/** @typedef {Readonly<Record<string, number>>} Baseline project → listed words; a project that is missing has none */

/**
 * @param {Baseline} baseline
 * @param {Baseline} counts of every project that exists
 */
export function compare(baseline, counts) {
  const changed = Object.entries(counts).map(([project, count]) => ({
    project,
    count,
    allowed: baseline[project] ?? 0,
  }));
  return {
    above: changed.filter(({ count, allowed }) => count > allowed),
    below: changed.filter(({ count, allowed }) => count < allowed),
    removed: Object.keys(baseline).filter((project) => !(project in counts)),
  };
}

/**
 * @param {Baseline} baseline
 * @param {Baseline} counts
 * @returns {Baseline} the smaller number of each project; projects without listed words are left out
 */
export function lowered(baseline, counts) {
  const entries = Object.entries(counts).map(
    ([project, count]) => /** @type {const} */ ([project, Math.min(count, baseline[project] ?? 0)]),
  );
  return Object.fromEntries(
    entries.filter(([, count]) => count > 0).sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}
