import type { Take, Taken, TokenBuckets } from './token-buckets';

export interface HandfulOptions {
  /** Monotonic, in milliseconds. */
  readonly nowMs?: () => number;
  /** Buckets of which a handful is kept; the one unused for longest is given up first, with what is left in it. */
  readonly mostKept?: number;
}

/** How long tokens that were taken are kept, ms. */
const keptMs = 1_000;

/** A handful that was used up within this time was too small, ms. */
const quickMs = 100;

/** Share of the burst that is taken at once at most: processes that keep a handful each keep little of it from one another. */
const largestShare = 1 / 32;

interface Handful {
  size: number;
  left: number;
  takenAtMs: number;
  /** Asking for more, for everybody who waits. */
  asking: Promise<Taken> | null;
}

/**
 * Takes several tokens at once from shared buckets that are asked quickly one after the other, so that most requests need not wait
 * for an answer: twice as many as the last time while they are used up quickly, else one. Together all processes never take more
 * than the bucket gives.
 */
export class HandfulTokenBuckets implements TokenBuckets {
  /** In the order of last use. */
  readonly #handfuls = new Map<string, Handful>();
  readonly #nowMs: () => number;
  readonly #mostKept: number;

  constructor(
    private readonly shared: TokenBuckets,
    { nowMs = () => performance.now(), mostKept = 10_000 }: HandfulOptions = {},
  ) {
    this.#nowMs = nowMs;
    this.#mostKept = mostKept;
  }

  async take(key: string, take: Take): Promise<Taken> {
    if (take.cost !== 1) return await this.shared.take(key, take);
    const handful = this.#handfulOf(key);
    for (;;) {
      if (handful.left > 0 && this.#nowMs() < handful.takenAtMs + keptMs) {
        handful.left -= 1;
        return { ok: true };
      }
      handful.asking ??= this.#askFor(handful, key, take).finally(() => (handful.asking = null));
      const taken = await handful.asking;
      if (!taken.ok) return taken;
    }
  }

  #handfulOf(key: string): Handful {
    const handful = this.#handfuls.get(key) ?? { size: 0, left: 0, takenAtMs: -Infinity, asking: null };
    this.#handfuls.delete(key);
    this.#handfuls.set(key, handful);
    if (this.#handfuls.size > this.#mostKept) {
      for (const longestUnused of this.#handfuls.keys()) {
        this.#handfuls.delete(longestUnused);
        break;
      }
    }
    return handful;
  }

  async #askFor(handful: Handful, key: string, take: Take): Promise<Taken> {
    const wasQuick = this.#nowMs() < handful.takenAtMs + quickMs;
    const most = Math.max(1, Math.floor(take.burst * largestShare));
    const size = wasQuick ? Math.min(most, handful.size * 2) : 1;
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
