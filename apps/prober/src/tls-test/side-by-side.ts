/** Does the work for each of the items, in their order, for at most so many at a time. */
export async function sideBySide<Item, Done>(
  items: readonly Item[],
  most: number,
  work: (item: Item) => Promise<Done>,
): Promise<Done[]> {
  const done: Done[] = [];
  const queue = items.entries();
  const takeTurns = async (): Promise<void> => {
    for (const [at, item] of queue) done[at] = await work(item);
  };
  await Promise.all(Array.from({ length: most }, takeTurns));
  return done;
}
