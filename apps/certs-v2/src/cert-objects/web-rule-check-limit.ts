import { FallbackTokenBuckets } from '@certwright/service';
import { Injectable } from '@nestjs/common';

/**
 * Checks of web servers of one account. Each may occupy one of the prober's slots for 10 s, and all accounts share
 * those, 64 by default: 20 + 10 s · 1/s are half of them, however slow the servers are.
 */
export const accountCheckRate = { ratePerS: 1, burst: 20 } as const;

/** Limits the checks of an account, so that other accounts do not have to wait. */
@Injectable()
export class WebRuleCheckLimit {
  constructor(private readonly buckets: FallbackTokenBuckets) {}

  /** @returns whether another one may be checked; a skipped check is no error */
  async take(accountId: string): Promise<boolean> {
    const taken = await this.buckets.take(`web-rule-looks:${accountId}`, { ...accountCheckRate, cost: 1 });
    return taken.ok;
  }
}
