/** How fast a bucket fills, and how much it holds. An unused bucket is full. */
export interface Rate {
  readonly ratePerS: number;
  readonly burst: number;
}

export interface Take extends Rate {
  /** Tokens to take; all of them or none. Never more than `burst`. */
  readonly cost: number;
}

export type Taken =
  | { readonly ok: true }
  | {
      readonly ok: false;
      /** Whole seconds, at least 1, until the same take succeeds if there are no other takes. */
      readonly retryAfterS: number;
    };

/**
 * Token buckets, one per key. A bucket that is lost with its store is full again. `take` is atomic per key and
 * rejects when the store is unavailable; see `FallbackTokenBuckets`.
 */
export interface TokenBuckets {
  take(key: string, take: Take): Promise<Taken>;
}

export interface BucketLevel {
  readonly tokens: number;
  readonly atMs: number;
}

/**
 * Computes one take.
 *
 * @param level absent: an unused bucket
 * @returns the new level, and the result
 */
function takeFrom(level: BucketLevel | undefined, take: Take, nowMs: number): [BucketLevel, Taken] {
  // A clock that was set back adds and removes nothing.
  const passedS = level === undefined ? 0 : Math.max(0, nowMs - level.atMs) / 1_000;
  const tokens = Math.min(take.burst, (level?.tokens ?? take.burst) + passedS * take.ratePerS);
  if (tokens >= take.cost) return [{ tokens: tokens - take.cost, atMs: nowMs }, { ok: true }];
  const waitS = (take.cost - tokens) / take.ratePerS;
  return [
    { tokens, atMs: nowMs },
    { ok: false, retryAfterS: Math.max(1, Math.ceil(waitS)) },
  ];
}

export interface MemoryTokenBucketsOptions {
  /**
   * Maximum number of buckets, about 200 bytes each. Beyond it the least recently used one is dropped, so it is full
   * again.
   */
  readonly maxBuckets?: number;
  /** Monotonic, in milliseconds. */
  readonly nowMs?: () => number;
}

/** Token buckets of this process: n processes allow n times the rate. */
export class MemoryTokenBuckets implements TokenBuckets {
  readonly #maxBuckets: number;
  readonly #nowMs: () => number;
  /** In the order of last use; the first is the least recently used. */
  readonly #levels = new Map<string, BucketLevel>();

  constructor({ maxBuckets = 50_000, nowMs = () => performance.now() }: MemoryTokenBucketsOptions = {}) {
    this.#maxBuckets = maxBuckets;
    this.#nowMs = nowMs;
  }

  take(key: string, take: Take): Promise<Taken> {
    const [level, taken] = takeFrom(this.#levels.get(key), take, this.#nowMs());
    this.#levels.delete(key);
    this.#levels.set(key, level);
    if (this.#levels.size > this.#maxBuckets) {
      for (const leastRecentlyUsed of this.#levels.keys()) {
        this.#levels.delete(leastRecentlyUsed);
        break;
      }
    }
    return Promise.resolve(taken);
  }
}
