import { FallbackTokenBuckets } from '@certwright/service';
import { Inject, Injectable } from '@nestjs/common';
import { CertsConfig } from '../config';
import { Refusal } from '../wire/reasons';

/** Tests lead to connections with servers that are not the caller's own, so they are counted by themselves. */
@Injectable()
export class TestLimit {
  constructor(
    private readonly buckets: FallbackTokenBuckets,
    @Inject(CertsConfig) private readonly config: Pick<CertsConfig, 'INSTALLATION_TESTS_PER_MIN'>,
  ) {}

  /** @throws Refusal `rate_limited` */
  async take(accountId: string): Promise<void> {
    const perMinute = this.config.INSTALLATION_TESTS_PER_MIN;
    const rate = { ratePerS: perMinute / 60, burst: perMinute };
    const taken = await this.buckets.take(`installation-tests:${accountId}`, { ...rate, cost: 1 });
    if (taken.ok) return;
    const { retryAfterS } = taken;
    const message = `This account may test ${perMinute} times a minute; the next test is due in ${retryAfterS} s.`;
    throw new Refusal('rate_limited', message, { retryAfterS });
  }
}
