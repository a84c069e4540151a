/** Work of one account among that of many. */
export interface Turn {
  readonly accountId: string;
}

/**
 * Gives each item its turn among the work of its account: the first of every account, then the second of every account,
 * and so on. Within a turn the order stays.
 *
 * @returns the items with their turn, from 1
 */
export function inTurn<T extends Turn>(
  items: readonly T[],
): readonly { readonly item: T; readonly turn: number }[] {
  const seen = new Map<string, number>();
  return items
    .map((item) => {
      const turn = (seen.get(item.accountId) ?? 0) + 1;
      seen.set(item.accountId, turn);
      return { item, turn };
    })
    .sort((one, other) => one.turn - other.turn);
}
