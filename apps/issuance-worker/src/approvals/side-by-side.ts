/**
 * Runs `work` for every item, in their order, at most `max` in parallel. Rejects with the first failure, and starts
 * nothing more.
 */
export async function sideBySide<T>(
  max: number,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  const end = new AbortController();
  const lane = async () => {
    for (const item of waiting) {
      if (end.signal.aborted) return;
      try {
        await work(item);
      } catch (error) {
        end.abort();
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(max, items.length) }, lane));
}
