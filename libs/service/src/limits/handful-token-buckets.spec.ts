import { HandfulTokenBuckets } from './handful-token-buckets';
import { MemoryTokenBuckets, type Take, type Taken, type TokenBuckets } from './token-buckets';

const plan = { ratePerS: 100, burst: 320, cost: 1 };

let nowMs: number;
let costs: number[];
let shared: TokenBuckets;
beforeEach(() => {
  [nowMs, costs] = [0, []];
  const memory = new MemoryTokenBuckets({ nowMs: () => nowMs });
  shared = {
    take: async (key: string, take: Take) => {
      costs.push(take.cost);
      return await memory.take(key, take);
    },
  };
});
const opened = () => new HandfulTokenBuckets(shared, { nowMs: () => nowMs });

async function takeMany(
  buckets: TokenBuckets,
  times: number,
  take: Take = plan,
  key = 'a',
): Promise<Taken[]> {
  const results: Taken[] = [];
  for (let nth = 0; nth < times; nth += 1) results.push(await buckets.take(key, take));
  return results;
}
const granted = (results: readonly Taken[]): number => results.filter(({ ok }) => ok).length;

it('takes more at once while tokens are used up quickly, up to a share of the burst', async () => {
  const buckets = opened();
  expect(granted(await takeMany(buckets, 35))).toBe(35);
  expect(costs).toEqual([1, 2, 4, 8, 10, 10]);
  nowMs += 101;
  await takeMany(buckets, 2);
  expect(costs.slice(6)).toEqual([1, 2]);
});

it('takes one at a time when requests are slow, and keeps none for long', async () => {
  const buckets = opened();
  for (let nth = 0; nth < 5; nth += 1, nowMs += 200) await takeMany(buckets, 1);
  expect(costs).toEqual([1, 1, 1, 1, 1]);
  await takeMany(buckets, 2);
  expect(costs).toEqual([1, 1, 1, 1, 1, 1, 2]);
  nowMs += 1_000;
  await takeMany(buckets, 1);
  expect(costs.at(-1)).toBe(1);
});

it('grants no more than the bucket has, to one process and to many', async () => {
  const processes = [opened(), opened(), opened()];
  let all = 0;
  for (let round = 0; round < 200; round += 1)
    for (const each of processes) all += granted(await takeMany(each, 1));
  expect(all).toBe(320);
  nowMs += 1_000;
  for (let round = 0; round < 200; round += 1)
    for (const each of processes) all += granted(await takeMany(each, 1));
  expect(all).toBe(420);
});

it('says when the next one is due', async () => {
  const buckets = opened();
  await takeMany(buckets, 320);
  expect(await buckets.take('a', plan)).toEqual({ ok: false, retryAfterS: 1 });
  expect(await buckets.take('b', plan)).toEqual({ ok: true });
});

it('takes once for all waiting requests', async () => {
  const buckets = opened();
  const results = await Promise.all(Array.from({ length: 30 }, async () => await buckets.take('a', plan)));
  expect([granted(results), costs]).toEqual([30, [1, 2, 4, 8, 10, 10]]);
});

it('does not make requests wait for each other where a handful would be a single token', async () => {
  const small = { ratePerS: 25, burst: 50, cost: 1 };
  const under: (() => void)[] = [];
  const slow = new HandfulTokenBuckets({
    take: async (key, take) => {
      await new Promise<void>((resolve) => under.push(resolve));
      return await shared.take(key, take);
    },
  });
  const all = Promise.all(Array.from({ length: 3 }, async () => await slow.take('a', small)));
  expect(under).toHaveLength(3);
  for (const end of under) end();
  expect(granted(await all)).toBe(3);
});

it('leaves what costs more, or gives back, to the bucket itself', async () => {
  const buckets = opened();
  await buckets.take('a', { ...plan, cost: 7 });
  await buckets.take('a', { ...plan, cost: -1 });
  expect(costs).toEqual([7, -1]);
});

it('takes again after the shared buckets failed', async () => {
  const failing = {
    take: jest.fn().mockRejectedValueOnce(new Error('unreachable')).mockResolvedValue({ ok: true }),
  };
  const buckets = new HandfulTokenBuckets(failing);
  await expect(buckets.take('a', plan)).rejects.toThrow('unreachable');
  await expect(buckets.take('a', plan)).resolves.toEqual({ ok: true });
});

it('keeps no more handfuls than it may', async () => {
  const buckets = new HandfulTokenBuckets(shared, { nowMs: () => nowMs, maxKept: 1 });
  await takeMany(buckets, 2);
  await takeMany(buckets, 1, plan, 'b');
  await takeMany(buckets, 1);
  expect(costs).toEqual([1, 2, 1, 1]);
});
