// Compares the cost of different work in alternating turns, so that other load affects all equally.

const secondsEach = 2;
/** Long enough that each turn includes garbage collection. */
const turnMs = 60;
const turnsBefore = 5;

/**
 * @param {Record<string, () => number | Promise<number>>} contenders each does some work and returns its amount
 * @returns {Promise<Record<string, number>>} number per second of CPU, in the best turn
 */
export async function inTurns(contenders) {
  const best = Object.fromEntries(Object.keys(contenders).map((name) => [name, 0]));
  const turns = turnsBefore + (secondsEach * 1_000) / turnMs;
  for (let turn = 0; turn < turns; turn += 1) {
    for (const [name, work] of Object.entries(contenders)) {
      const rate = await rateOf(work);
      if (turn >= turnsBefore) best[name] = Math.max(best[name], rate);
    }
  }
  return best;
}

async function rateOf(work) {
  const [begun, before] = [performance.now(), process.cpuUsage()];
  let count = 0;
  while (performance.now() - begun < turnMs) count += await work();
  const { user, system } = process.cpuUsage(before);
  return (count / (user + system)) * 1e6;
}
