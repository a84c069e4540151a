import { caAccount } from '../testing/ca-accounts';
import { CoreDatabaseFixture } from '@certwright/core-testing';
import type { Transactions } from '@certwright/core-schema';
import { CaLimitBuckets, type CaLimitNeed } from './ca-limit-buckets';

const [mine, others] = ['1000000000001', '1000000000002'];
const day = 86_400;

let core: CoreDatabaseFixture;
let buckets: CaLimitBuckets;
let at: string;

beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  buckets = new CaLimitBuckets(core.database, core.transactions);
  for (const id of [mine, others]) await core.account(id);
  at = await caAccount(core, 'public-ca');
});
afterAll(async () => await core.close());
beforeEach(async () => {
  await core.database.query(`DELETE FROM ca_limit_bucket`);
  await core.database.query(`UPDATE account SET disabled_at = NULL`);
});

const domain = (key: string, count: number, perS = day): CaLimitNeed => {
  return { kind: 'perRegisteredDomain', key, limit: { count, perS } };
};
const orders = (count: number, perS = day): CaLimitNeed => {
  return { kind: 'newOrders', key: '', limit: { count, perS } };
};
const take = async (needs: readonly CaLimitNeed[], account = mine) => await buckets.take(at, needs, account);

/** @returns number of takers that were granted something */
async function race(takers: number, needs: (taker: number) => readonly CaLimitNeed[]): Promise<number> {
  const all = await Promise.all(Array.from({ length: takers }, async (_, index) => await take(needs(index))));
  return all.filter(({ taken }) => taken).length;
}

/** Simulates the passing of time. */
async function pass(seconds: number): Promise<void> {
  await core.database.query(
    `UPDATE ca_limit_bucket SET at = at - $1 * interval '1 second',
       spent_until = spent_until - $1 * interval '1 second'`,
    [seconds],
  );
}

async function secondsUntil(until: Date): Promise<number> {
  const [{ now }] = await core.database.query<[{ now: Date }]>(`SELECT clock_timestamp() AS now`);
  return (until.getTime() - now.getTime()) / 1_000;
}

it('takes all or nothing, and reports which bucket is empty and until when', async () => {
  expect(await take([domain('example.com', 2), domain('example.net', 1)])).toEqual({ taken: true });
  const refused = await take([domain('example.com', 2), domain('example.net', 1)]);
  if (refused.taken) throw new Error('the second bucket is empty');
  expect(refused).toMatchObject({ kind: 'perRegisteredDomain', key: 'example.net', keptForOthers: false });
  expect(Math.abs((await secondsUntil(refused.until)) - day)).toBeLessThan(600);
  // Nothing was taken from the first bucket.
  expect(await take([domain('example.com', 2)])).toEqual({ taken: true });
  expect(await take([domain('example.com', 2)])).toMatchObject({ taken: false });
});

it('reports the bucket that stays empty longest', async () => {
  await take([domain('a.example', 1, 100), domain('b.example', 1, 200)]);
  const needs = [domain('a.example', 1, 100), domain('b.example', 1, 200), domain('c.example', 1)];
  expect(await take(needs)).toMatchObject({ taken: false, key: 'b.example' });
});

it('takes a bucket that is listed twice once', async () => {
  expect(await take([domain('example.com', 1), domain('example.com', 1)])).toEqual({ taken: true });
});

it('refills evenly, up to the count', async () => {
  expect(await race(3, () => [domain('example.com', 4, 400)])).toBe(3);
  await pass(100);
  expect(await race(5, () => [domain('example.com', 4, 400)])).toBe(2);
  await pass(1_000_000);
  expect(await race(9, () => [domain('example.com', 4, 400)])).toBe(4);
});

it('never grants fifty concurrent takers more than the available count', async () => {
  expect(await race(50, () => [domain('example.com', 20)])).toBe(20);
});

it('does not deadlock when takers list several buckets in any order', async () => {
  // Without retries, which would hide a deadlock.
  const once: Pick<Transactions, 'run'> = { run: async (work) => await core.database.transaction(work) };
  const unrepeated = new CaLimitBuckets(core.database, once as Transactions);
  const names = Array.from({ length: 40 }, (_, index) => domain(`${index}.example`, 1_000));
  const turned = (taker: number) => (taker % 2 === 0 ? names : [...names].reverse());
  const takers = Array.from(
    { length: 60 },
    async (_, index) => await unrepeated.take(at, turned(index), mine),
  );
  const forgetting = Array.from({ length: 10 }, async () => await buckets.forgetFull());
  expect((await Promise.all(takers)).every(({ taken }) => taken)).toBe(true);
  await Promise.all(forgetting);
});

it('refunds, never above the count', async () => {
  const needs = [domain('example.com', 1)];
  await take(needs);
  for (let round = 0; round < 3; round += 1) await buckets.giveBack(at, needs, mine);
  expect(await race(3, () => needs)).toBe(1);
});

it('waits as long as the CA says, and never less', async () => {
  const until = new Date(Date.now() + 600_000);
  await buckets.drain(at, domain('example.com', 5, 100), until);
  await buckets.drain(at, domain('example.com', 5, 100), new Date());
  const refused = await take([domain('example.com', 5, 100)]);
  if (refused.taken) throw new Error('the CA said to wait');
  expect(Math.abs(refused.until.getTime() - until.getTime())).toBeLessThan(60_000);
  await pass(300);
  expect(await take([domain('example.com', 5, 100)])).toMatchObject({ taken: false });
  await pass(301);
  expect(await take([domain('example.com', 5, 100)])).toEqual({ taken: true });
});

it("applies an operator's change of a limit at once", async () => {
  expect(await race(9, () => [domain('example.com', 4)])).toBe(4);
  expect(await race(9, () => [domain('example.com', 6)])).toBe(2);
  expect(await race(9, () => [domain('example.com', 2)])).toBe(0);
  expect(await race(9, () => [domain('example.com', 7)])).toBe(1);
});

describe('orders of many accounts', () => {
  it('one account takes half at once; the rest is kept for others', async () => {
    expect(await race(20, () => [orders(11)])).toBe(6);
    const refused = await take([orders(11)]);
    if (refused.taken) throw new Error('an account had its share');
    expect(refused).toMatchObject({ kind: 'newOrders', key: '', keptForOthers: true });
    expect(await secondsUntil(refused.until)).toBeGreaterThan(0);
    expect(await secondsUntil(refused.until)).toBeLessThan(day / 11);
    expect(await take([orders(11)], others)).toEqual({ taken: true });
  });

  it('a single account takes all', async () => {
    await core.database.query(`UPDATE account SET disabled_at = now() WHERE id = $1`, [others]);
    expect(await race(20, () => [orders(11)])).toBe(11);
    expect(await take([orders(11)])).toMatchObject({ taken: false, keptForOthers: false });
  });

  it('a refund counts for the share again', async () => {
    await race(20, () => [orders(11)]);
    await buckets.giveBack(at, [orders(11)], mine);
    expect(await race(20, () => [orders(11)])).toBe(1);
  });
});

it('deletes only buckets that have been full for a day', async () => {
  await take([domain('full.example', 1, 10), domain('spent.example', 1, 10 * day)]);
  await pass(day + 60);
  expect(await buckets.forgetFull()).toBe(1);
  expect(await take([domain('full.example', 1, 10)])).toEqual({ taken: true });
  expect(await take([domain('spent.example', 1, 10 * day)])).toMatchObject({ taken: false });
});
