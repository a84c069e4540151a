import { brokenRules } from '@certwright/core-testing';
import { prices, PurchaseFixture } from '@certwright/core-testing';
import { UnusedCharges } from './unused-charges';

let fixture: PurchaseFixture;
beforeAll(async () => {
  fixture = await PurchaseFixture.open();
}, 30_000);
afterAll(async () => await fixture.core.close());

const atOnce = 8;
const one = ['a.example.com'];
const outcomes = async (work: readonly Promise<unknown>[]) => {
  const settled = await Promise.allSettled(work);
  const refused = settled.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
  return { done: settled.length - refused.length, refused: refused.map(({ reason }) => reason as Error) };
};

describe('purchases of one account at the same time', () => {
  it.each([1, 3, 7])(
    'are carried out while the balance suffices: %i of 24',
    async (affordable) => {
      const accountId = await fixture.account(prices.name * affordable + 999);
      const plans: string[] = [];
      for (let count = 0; count < 3 * atOnce; count += 1) plans.push(await fixture.plan(accountId, one));
      const { done, refused } = await outcomes(plans.map((plan) => fixture.buy(plan, { kind: 'term' })));
      expect(done).toBe(affordable);
      expect(new Set(refused.map((error) => (error as { code?: string }).code))).toEqual(
        new Set(['payment_required']),
      );
      expect(await fixture.balanceOf(accountId)).toBe(999);
      expect(await fixture.count(`FROM issuance WHERE account_id = $1 AND state = 'open'`, accountId)).toBe(
        affordable,
      );
      expect(await brokenRules(fixture.core.database)).toEqual([]);
    },
    60_000,
  );

  it('of the same plan replace each other, and one is paid in the end', async () => {
    const accountId = await fixture.account(prices.name);
    const plan = await fixture.plan(accountId, one);
    const { done } = await outcomes(
      Array.from({ length: 2 * atOnce }, () => fixture.buy(plan, { kind: 'term' })),
    );
    expect(done).toBe(2 * atOnce);
    expect(await fixture.balanceOf(accountId)).toBe(0);
    expect(await fixture.count(`FROM charge WHERE plan_id = $1 AND refunded_at IS NULL`, plan)).toBe(1);
    expect(await brokenRules(fixture.core.database)).toEqual([]);
  }, 60_000);

  it('never deadlock: purchases, changes, ends and refunds of many plans, mixed', async () => {
    const accountId = await fixture.account(prices.name * 12);
    const plans: string[] = [];
    for (let count = 0; count < 6; count += 1) plans.push(await fixture.plan(accountId, one));
    const sweeps = Array.from(
      { length: 2 },
      () => new UnusedCharges(fixture.core.database, fixture.core.transactions),
    );
    const failures: unknown[] = [];
    const errorOf = (error: unknown) => {
      if ((error as { code?: string }).code !== 'payment_required') failures.push(error);
    };
    for (let round = 0; round < 6; round += 1) {
      const work = plans.flatMap((plan, index) => [
        fixture.buy(plan, { kind: 'term' }),
        fixture.buy(plan, { kind: 'as_paid', dnsNames: index % 2 === 0 ? ['b.org', 'c.org'] : one }),
        fixture.end(plan),
      ]);
      await Promise.all(
        [...work, ...sweeps.map((sweep) => sweep.settle(100))].map((each) => each.catch(errorOf)),
      );
      expect(await brokenRules(fixture.core.database)).toEqual([]);
    }
    expect(failures).toEqual([]);
    for (const plan of plans) await fixture.end(plan);
    for (const sweep of sweeps) while ((await sweep.settle(10)) === 10);
    await Promise.all(sweeps.map((sweep) => sweep.settle(100)));
    expect(await fixture.balanceOf(accountId)).toBe(prices.name * 12);
    expect(await brokenRules(fixture.core.database)).toEqual([]);
  }, 120_000);
});
