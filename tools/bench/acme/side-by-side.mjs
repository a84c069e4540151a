/** Polling interval of clients that can be configured, doubled up to the maximum; a CA on the same machine needs a few ms. */
export const minPollMs = 20;
export const maxPollMs = 160;
/** A client that runs longer has failed. */
export const clientTimeoutMs = 60_000;

/**
 * Does the work for every item, at most `width` concurrently, and counts the results.
 *
 * @template T
 * @param {number} width
 * @param {readonly T[]} items
 * @param {(item: T, lane: number) => Promise<unknown>} work
 * @returns {Promise<{ issued: number, problems: string[] }>}
 */
export async function sideBySide(width, items, work) {
  const waiting = items.values();
  const problems = [];
  let issued = 0;
  const lane = async (number) => {
    for (const item of waiting) {
      try {
        await work(item, number);
        issued += 1;
      } catch (error) {
        problems.push(String(error?.message ?? error).slice(0, 300));
      }
    }
  };
  await Promise.all(Array.from({ length: width }, (_, number) => lane(number)));
  return { issued, problems };
}
