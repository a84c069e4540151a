/** A queue of unique ids. The accounts take turns, and the ids within an account too. */
export class FairQueue {
  readonly #byAccount = new Map<string, Set<string>>();

  /** Does nothing when it is queued already. */
  add(accountId: string, id: string): void {
    const queued = this.#byAccount.get(accountId);
    if (queued === undefined) this.#byAccount.set(accountId, new Set([id]));
    else queued.add(id);
  }

  /** @returns the next id, removed from the queue; undefined when the queue is empty */
  next(): string | undefined {
    for (const [accountId, queued] of this.#byAccount) {
      this.#byAccount.delete(accountId);
      for (const id of queued) {
        queued.delete(id);
        if (queued.size > 0) this.#byAccount.set(accountId, queued);
        return id;
      }
    }
    return undefined;
  }
}
