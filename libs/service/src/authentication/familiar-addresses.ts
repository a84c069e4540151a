/** How long an address is familiar after its user has signed in there: two days, in milliseconds. */
const familiarMs = 48 * 3_600_000;

/** Most pairs of user and address, about 400 bytes each; the one that signed in longest ago is forgotten first. */
const mostPairs = 10_000;

/**
 * From where users have signed in. Somebody who tries passwords elsewhere can have everything refused that comes for a
 * user's name, but not what comes from here: otherwise whoever knows a name could lock its owner out.
 */
export class FamiliarAddresses {
  /** Pair → until when; the oldest first. */
  readonly #untilMs = new Map<string, number>();

  /** @param nowMs monotonic, in milliseconds */
  constructor(private readonly nowMs: () => number) {}

  has(userName: string, addressKey: string): boolean {
    return (this.#untilMs.get(keyOf(userName, addressKey)) ?? -Infinity) > this.nowMs();
  }

  /** The user has signed in there. */
  add(userName: string, addressKey: string): void {
    const key = keyOf(userName, addressKey);
    this.#untilMs.delete(key);
    this.#untilMs.set(key, this.nowMs() + familiarMs);
    for (const [oldest, untilMs] of this.#untilMs) {
      if (untilMs > this.nowMs() && this.#untilMs.size <= mostPairs) break;
      this.#untilMs.delete(oldest);
    }
  }
}

/** Neither part can hold a NUL. */
const keyOf = (userName: string, addressKey: string): string => `${userName}\0${addressKey}`;
