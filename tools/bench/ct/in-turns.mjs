// What different work costs, side by side: in turns, so that what else the machine does hits all alike.

const secondsEach = 2;
/** So long that each turn has its share of garbage to collect. */
const turnMs = 60;
const turnsBefore = 5;

/**
 * @param {Record<string, () => number | Promise<number>>} contenders each does some and tells how many
 * @returns {Promise<Record<string, number>>} how many in a second of CPU, in the turn that other work disturbed least
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
