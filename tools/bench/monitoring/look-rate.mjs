/**
 * Looks at all hosts in turn, always as many at once.
 *
 * @param {(nth: number) => Promise<boolean>} look at the nth host; false: it failed
 * @param {{ seconds: number, hosts: number, concurrency: number }} amounts
 */
export async function rateOf(look, { seconds, hosts, concurrency }) {
  let [next, done, failed] = [0, 0, 0];
  const begun = performance.now();
  const until = begun + seconds * 1_000;
  const takeTurns = async () => {
    while (performance.now() < until) {
      if (await look(next++ % hosts)) done += 1;
      else failed += 1;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, takeTurns));
  return { done, failed, perSecond: (done * 1_000) / (performance.now() - begun) };
}
