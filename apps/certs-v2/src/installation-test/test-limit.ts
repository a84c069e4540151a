import type { TokenBuckets } from '@certwright/service';
import { Refusal } from '../wire/reasons';

/** Tests lead to connections with servers that are not the caller's own, so they are counted by themselves. */
export class TestLimit {
  /** @param perMinute tests of one account, as many at once */
  constructor(
    private readonly buckets: TokenBuckets,
    private readonly perMinute: number,
  ) {}

  /** @throws Refusal `rate_limited` */
  async take(accountId: string): Promise<void> {
    const rate = { ratePerS: this.perMinute / 60, burst: this.perMinute };
    const taken = await this.buckets.take(`installation-tests:${accountId}`, { ...rate, cost: 1 });
    if (taken.ok) return;
    const { retryAfterS } = taken;
    const message = `This account may test ${this.perMinute} times a minute; the next test is due in ${retryAfterS} s.`;
    throw new Refusal('rate_limited', message, { retryAfterS });
  }
}
