import type { Take, Taken, TokenBuckets } from './token-buckets';

export interface FallbackOptions {
  /** How long a request waits for the shared buckets: a limit must never be what makes a request slow. */
  readonly patienceMs?: number;
  /** After a failure the shared buckets are left alone for this long, so that an outage costs the wait once, not per request. */
  readonly restMs?: number;
  /** Monotonic, in milliseconds. */
  readonly nowMs?: () => number;
  /** Told once per failure that ends in a rest. */
  readonly onFailure?: (error: unknown) => void;
}

/** Takes from the shared buckets, and from those of this process while the shared ones are away or slow. Never rejects. */
export class FallbackTokenBuckets implements TokenBuckets {
  #restingUntilMs = -Infinity;
  readonly #options: Required<FallbackOptions>;

  constructor(
    private readonly shared: TokenBuckets,
    private readonly own: TokenBuckets,
    options: FallbackOptions = {},
  ) {
    this.#options = {
      patienceMs: 50,
      restMs: 1_000,
      nowMs: () => performance.now(),
      onFailure: () => undefined,
      ...options,
    };
  }

  async take(key: string, take: Take): Promise<Taken> {
    const { patienceMs, restMs, nowMs, onFailure } = this.#options;
    if (nowMs() < this.#restingUntilMs) return this.own.take(key, take);
    try {
      return await within(patienceMs, this.shared.take(key, take));
    } catch (error) {
      const alreadyResting = nowMs() < this.#restingUntilMs;
      this.#restingUntilMs = nowMs() + restMs;
      if (!alreadyResting) onFailure(error);
      return this.own.take(key, take);
    }
  }
}

async function within<T>(ms: number, pending: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([pending, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
