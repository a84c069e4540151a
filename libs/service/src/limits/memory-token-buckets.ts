import { type BucketLevel, type Take, takeFrom, type Taken, type TokenBuckets } from './token-buckets';

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
