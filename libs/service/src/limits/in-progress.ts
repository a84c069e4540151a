/** What is in progress for each account, in this process: one account must not occupy all of what accounts share. */
export class InProgress {
  readonly #counts = new Map<string, number>();

  constructor(private readonly maxOfAccount: number) {}

  /** @returns to be called once it has ended; null: the account has the maximum in progress */
  begin(accountId: string): (() => void) | null {
    const others = this.#counts.get(accountId) ?? 0;
    if (others >= this.maxOfAccount) return null;
    this.#counts.set(accountId, others + 1);
    return () => {
      const left = (this.#counts.get(accountId) ?? 1) - 1;
      if (left === 0) this.#counts.delete(accountId);
      else this.#counts.set(accountId, left);
    };
  }
}
