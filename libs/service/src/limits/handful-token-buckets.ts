import type { Take, Taken, TokenBuckets } from './token-buckets';

export interface HandfulOptions {
  /** Monotonic, in milliseconds. */
  readonly nowMs?: () => number;
  /**
   * Maximum number of buckets with tokens kept in this process. The least recently used is dropped first, with its
   * remaining tokens.
   */
  readonly maxKept?: number;
}

/** How long taken tokens are kept, ms. */
const keptMs = 1_000;

/** Tokens used up within this time were too few, ms. */
const quickMs = 100;

/** Maximum share of the burst to take at once, so that processes do not starve one another. */
const maxShare = 1 / 32;

const maxSizeOf = ({ burst }: Take): number => Math.max(1, Math.floor(burst * maxShare));

interface Handful {
  size: number;
  left: number;
  takenAtMs: number;
  /** The take under way, shared by all waiting requests. */
  pending: Promise<Taken> | null;
}

/**
 * Takes several tokens at once from a shared bucket that is used often, so that most requests need not wait for it:
 * twice as many as the last time while they are used up quickly, otherwise one. All processes together never take
 * more than the bucket holds.
 */
export class HandfulTokenBuckets implements TokenBuckets {
  /** In the order of last use. */
  readonly #handfuls = new Map<string, Handful>();
  readonly #nowMs: () => number;
  readonly #maxKept: number;

  constructor(
    private readonly shared: TokenBuckets,
    { nowMs = () => performance.now(), maxKept = 10_000 }: HandfulOptions = {},
  ) {
    this.#nowMs = nowMs;
    this.#maxKept = maxKept;
  }

  async take(key: string, take: Take): Promise<Taken> {
    // Where a handful is a single token, requests would only wait for each other.
    if (take.cost !== 1 || maxSizeOf(take) === 1) return await this.shared.take(key, take);
    const handful = this.#handfulOf(key);
    for (;;) {
      if (handful.left > 0 && this.#nowMs() < handful.takenAtMs + keptMs) {
        handful.left -= 1;
        return { ok: true };
      }
      handful.pending ??= this.#refill(handful, key, take).finally(() => (handful.pending = null));
      const taken = await handful.pending;
      if (!taken.ok) return taken;
    }
  }

  #handfulOf(key: string): Handful {
    const handful = this.#handfuls.get(key) ?? { size: 0, left: 0, takenAtMs: -Infinity, pending: null };
    this.#handfuls.delete(key);
    this.#handfuls.set(key, handful);
    if (this.#handfuls.size > this.#maxKept) {
      for (const leastRecentlyUsed of this.#handfuls.keys()) {
        this.#handfuls.delete(leastRecentlyUsed);
        break;
      }
    }
    return handful;
  }

  async #refill(handful: Handful, key: string, take: Take): Promise<Taken> {
    const wasQuick = this.#nowMs() < handful.takenAtMs + quickMs;
    const size = wasQuick ? Math.min(maxSizeOf(take), handful.size * 2) : 1;
    let taken = await this.shared.take(key, { ...take, cost: size });
    handful.size = size;
    if (!taken.ok && size > 1) {
      handful.size = 1;
      taken = await this.shared.take(key, take);
    }
    if (taken.ok) [handful.left, handful.takenAtMs] = [handful.size, this.#nowMs()];
    return taken;
  }
}
