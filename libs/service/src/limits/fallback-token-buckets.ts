import type { Take, Taken, TokenBuckets } from './token-buckets';
import { within } from '../lifecycle/within';

/** Timeout of the shared buckets; a limit must not make requests slow. */
const patienceMs = 50;

/** After a failure the shared buckets are not used for this long, so that an outage delays one request, not each. */
const restMs = 1_000;

export interface FallbackOptions {
  /** Monotonic, in milliseconds. */
  readonly nowMs?: () => number;
  /** Called once per failure that starts such a pause. */
  readonly onFailure?: (error: unknown) => void;
}

/**
 * Takes from the shared buckets, or from this process's own while the shared ones are unavailable or slow. Never
 * rejects.
 */
export class FallbackTokenBuckets implements TokenBuckets {
  #restingUntilMs = -Infinity;
  readonly #options: Required<FallbackOptions>;

  constructor(
    private readonly shared: TokenBuckets,
    private readonly own: TokenBuckets,
    options: FallbackOptions = {},
  ) {
    this.#options = {
      nowMs: () => performance.now(),
      onFailure: () => undefined,
      ...options,
    };
  }

  async take(key: string, take: Take): Promise<Taken> {
    const { nowMs, onFailure } = this.#options;
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
