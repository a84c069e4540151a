import type { TokenBuckets } from '@certwright/service';

/**
 * Looks at web servers of one account. Each may keep one of the prober's places busy for 10 s, and all accounts share those,
 * 64 of them by default: 20 + 10 s · 1/s are half of them, however slow somebody makes his servers.
 */
export const looksOfAccount = { ratePerS: 1, burst: 20 } as const;

/** Web servers are looked at for nobody so often that others would have to wait. */
export class LookLimit {
  constructor(private readonly buckets: TokenBuckets) {}

  /** @returns whether one more may be looked at; what is not looked at is no error */
  async take(accountId: string): Promise<boolean> {
    const taken = await this.buckets.take(`web-rule-looks:${accountId}`, { ...looksOfAccount, cost: 1 });
    return taken.ok;
  }
}
