/** Work of one account among that of many. */
export interface Turn {
  readonly accountId: string;
}

/**
 * Orders items fairly by account: the first of every account, then the second of every account, and so on. Within a
 * round the order is kept.
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
