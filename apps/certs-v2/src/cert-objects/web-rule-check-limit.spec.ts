import { FallbackTokenBuckets, MemoryTokenBuckets } from '@certwright/service';
import { accountCheckRate, WebRuleCheckLimit } from './web-rule-check-limit';

it('allows the burst of each account, and then one check a second', async () => {
  let nowMs = 0;
  const inMemory = () => new MemoryTokenBuckets({ nowMs: () => nowMs });
  const limit = new WebRuleCheckLimit(new FallbackTokenBuckets(inMemory(), inMemory()));
  const allowed = async (accountId: string) => {
    let count = 0;
    while (await limit.take(accountId)) count += 1;
    return count;
  };
  expect(await allowed('1')).toBe(accountCheckRate.burst);
  expect(await allowed('2')).toBe(accountCheckRate.burst);
  nowMs = 3_000;
  expect(await allowed('1')).toBe(3);
});
