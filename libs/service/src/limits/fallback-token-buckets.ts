import type { Take, Taken, TokenBuckets } from './token-buckets';
import { within } from '../lifecycle/within';

/** Timeout of the shared buckets; a limit must not make requests slow. */
const patienceMs = 50;

/** After a failure the shared buckets are not used for this long, so that an outage delays one request, not each. */
const restMs = 1_000;

/**
 * Takes from the shared buckets, or from this process's own while the shared ones are unavailable or slow. Never
 * rejects.
 */
export class FallbackTokenBuckets implements TokenBuckets {
  #restingUntilMs = -Infinity;

  /** @param nowMs monotonic */
  constructor(
    private readonly shared: TokenBuckets,
    private readonly own: TokenBuckets,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  async take(key: string, take: Take): Promise<Taken> {
    if (this.nowMs() < this.#restingUntilMs) return this.own.take(key, take);
    try {
      return await within(patienceMs, this.shared.take(key, take));
    } catch {
      this.#restingUntilMs = this.nowMs() + restMs;
      return this.own.take(key, take);
    }
  }
}
