import { Problem } from '@certwright/errors';
import type { Rate, TokenBuckets } from '@certwright/service';

/** Cost of an anonymous query in the hourly limit: one with subdomains reads far more. */
export type AnonymousQuery = 'single' | 'subdomains';

/** Per client address (IPv6: per /64), each with its own bucket. */
export interface AnonymousRates {
  readonly second: Rate;
  readonly minute: Rate;
  readonly hour: Readonly<Record<AnonymousQuery, Rate>>;
}

/** Rate limits of requests without an API key. */
export class AnonymousLimits {
  constructor(
    private readonly buckets: TokenBuckets,
    private readonly rates: AnonymousRates,
  ) {}

  /** Counts any request. @throws Problem `rate_limited` */
  async countRequest(addressKey: string): Promise<void> {
    // The short limit first: a request that it rejects does not count for the long one.
    await this.#take('second', addressKey, this.rates.second);
    await this.#take('minute', addressKey, this.rates.minute);
  }

  /** Counts a query that is about to run. @throws Problem `rate_limited` */
  async countQuery(addressKey: string, query: AnonymousQuery): Promise<void> {
    await this.#take(query, addressKey, this.rates.hour[query]);
  }

  async #take(bucket: string, addressKey: string, rate: Rate): Promise<void> {
    const taken = await this.buckets.take(`search-anonymous-${bucket}:${addressKey}`, { ...rate, cost: 1 });
    if (taken.ok) return;
    const { retryAfterS } = taken;
    const message = `Too many requests without an API key came from this address; the next one is due in ${retryAfterS} s.`;
    throw new Problem('rate_limited', message, { retryAfterS });
  }
}
