/** How fast a bucket fills and how much it holds. A bucket nobody has used yet is full. */
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
      /** Whole seconds, at least 1, until the same take succeeds if nobody else takes. */
      readonly retryAfterS: number;
    };

/**
 * Token buckets, one per key. A bucket is lost with its store, and then full again: limits protect, they do not
 * account. `take` is atomic per key. It rejects when the store cannot answer; see `FallbackTokenBuckets`.
 */
export interface TokenBuckets {
  take(key: string, take: Take): Promise<Taken>;
}

export interface BucketLevel {
  readonly tokens: number;
  readonly atMs: number;
}

/**
 * The arithmetic of one take: what is left in the bucket afterwards, and the answer.
 *
 * @param level absent: a bucket that nobody has used yet
 */
export function takeFrom(level: BucketLevel | undefined, take: Take, nowMs: number): [BucketLevel, Taken] {
  // A clock that was set back fills nothing and takes nothing away.
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
  /** Most buckets kept, about 200 bytes each. Beyond it the one unused for longest is forgotten, which fills it. */
  readonly mostBuckets?: number;
  /** Monotonic, in milliseconds. */
  readonly nowMs?: () => number;
}

/** Token buckets of this process alone: with n copies of a process, n times the rate. */
export class MemoryTokenBuckets implements TokenBuckets {
  readonly #mostBuckets: number;
  readonly #nowMs: () => number;
  /** In the order of last use: the first is the one unused for longest. */
  readonly #levels = new Map<string, BucketLevel>();

  constructor({ mostBuckets = 50_000, nowMs = () => performance.now() }: MemoryTokenBucketsOptions = {}) {
    this.#mostBuckets = mostBuckets;
    this.#nowMs = nowMs;
  }

  take(key: string, take: Take): Promise<Taken> {
    const [level, taken] = takeFrom(this.#levels.get(key), take, this.#nowMs());
    this.#levels.delete(key);
    this.#levels.set(key, level);
    if (this.#levels.size > this.#mostBuckets) {
      for (const longestUnused of this.#levels.keys()) {
        this.#levels.delete(longestUnused);
        break;
      }
    }
    return Promise.resolve(taken);
  }
}
