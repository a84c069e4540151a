import { eventually } from '@certwright/testing';
import { attachOpen, validity } from '@certwright/core-testing';
import { giveBack } from '@certwright/billing';
import { brokenRules } from '@certwright/core-testing';
import { nothingPaid, prices, PurchaseFixture } from '@certwright/core-testing';
import { UnusedCharges } from './unused-charges';

const one = ['a.example.com'];

let fixture: PurchaseFixture;
let unused: UnusedCharges;
beforeAll(async () => {
  fixture = await PurchaseFixture.open();
}, 30_000);
afterAll(async () => await fixture.core.close());
beforeEach(() => {
  unused = new UnusedCharges(fixture.core.database, fixture.core.transactions);
});
afterEach(async () => expect(await brokenRules(fixture.core.database)).toEqual([]));

const refunded = async (planId: string) =>
  await fixture.count(`FROM charge WHERE plan_id = $1 AND refunded_at IS NOT NULL`, planId);

async function pending(): Promise<{ readonly accountId: string; readonly planId: string }> {
  const accountId = await fixture.account(prices.name * 5);
  const planId = await fixture.plan(accountId, one);
  await fixture.buy(planId, { kind: 'term' });
  return { accountId, planId };
}

it.each(['failed', 'canceled'] as const)('refunds an issuance that %s', async (state) => {
  const { accountId, planId } = await pending();
  await fixture.end(planId, state);
  await unused.settle(100);
  expect(await fixture.balanceOf(accountId)).toBe(prices.name * 5);
  expect(await fixture.paidOf(planId)).toEqual(nothingPaid);
  await unused.settle(100);
  expect(await fixture.count(`FROM ledger_entry WHERE account_id = $1 AND kind = 'refund'`, accountId)).toBe(
    1,
  );
});

it('refunds an issuance that one of another product replaced', async () => {
  const { accountId, planId } = await pending();
  await fixture.buy(planId, { kind: 'as_paid', product: 'free_ca' });
  await unused.settle(100);
  expect(await fixture.balanceOf(accountId)).toBe(prices.name * 5);
});

it('keeps charges of open issuances, and of issued certificates', async () => {
  const { accountId, planId } = await pending();
  await unused.settle(100);
  expect(await refunded(planId)).toBe(0);
  await attachOpen(fixture.core, planId, validity(0, 365));
  await unused.settle(100);
  expect(await fixture.balanceOf(accountId)).toBe(prices.name * 4);
});

it('restores the running term that a failed purchase extended', async () => {
  const { planId } = await pending();
  await attachOpen(fixture.core, planId, validity(0, 365));
  const before = await fixture.paidOf(planId);
  await fixture.buy(planId, { kind: 'term' });
  await fixture.buy(planId, { kind: 'as_paid', dnsNames: [...one, 'b.example.com'] });
  await fixture.end(planId);
  await unused.settle(100);
  expect(await fixture.paidOf(planId)).toEqual(before);
  expect(await refunded(planId)).toBe(2);
});

it('does not restore a term that was ended meanwhile', async () => {
  const { accountId, planId } = await pending();
  await attachOpen(fixture.core, planId, validity(0, 365));
  await fixture.buy(planId, { kind: 'term' });
  await fixture.end(planId, 'canceled');
  await fixture.core.transactions.run(async (tx) => await fixture.purchases.endPaidTerm(tx, planId));
  await unused.settle(100);
  expect(await fixture.paidOf(planId)).toEqual(nothingPaid);
  expect(await fixture.balanceOf(accountId)).toBe(prices.name * 4);
});

it('refunds once with concurrent workers', async () => {
  const { accountId, planId } = await pending();
  await fixture.end(planId);
  const { database, transactions } = fixture.core;
  await Promise.all(
    Array.from({ length: 6 }, async () => await new UnusedCharges(database, transactions).settle(1_000)),
  );
  expect(await fixture.balanceOf(accountId)).toBe(prices.name * 5);
});

it('does not refund a second time', async () => {
  const { accountId, planId } = await pending();
  await fixture.end(planId);
  await unused.settle(1_000);
  const charges: { id: string }[] = await fixture.core.database.query(
    `SELECT id FROM charge WHERE plan_id = $1`,
    [planId],
  );
  await fixture.core.transactions.run(
    async (tx) =>
      await giveBack(
        tx,
        charges.map(({ id }) => id),
      ),
  );
  expect(await fixture.balanceOf(accountId)).toBe(prices.name * 5);
});

it('keeps a charge that a concurrent purchase takes over', async () => {
  const { accountId, planId } = await pending();
  await fixture.end(planId);
  const { database, transactions } = fixture.core;
  let swept: Promise<number> = Promise.resolve(0);
  await transactions.run(async (tx) => {
    await tx.query(`SELECT 1 FROM plan WHERE id = $1 FOR UPDATE`, [planId]);
    await tx.query(
      `WITH next AS (
         INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at)
         SELECT plan_id, account_id, terms_id, revision + 1, 'open', '[]', now() FROM issuance WHERE plan_id = $1 RETURNING id)
       UPDATE charge SET issuance_id = next.id FROM next WHERE plan_id = $1`,
      [planId],
    );
    let isOver = false;
    swept = unused.settle(1_000).finally(() => (isOver = true));
    await eventually(async () => {
      const [waiting]: { count: number }[] = await database.query(
        `SELECT count(*)::int AS count FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      expect(isOver || waiting?.count === 1).toBe(true);
    });
  });
  await swept;
  expect(await refunded(planId)).toBe(0);
  expect(await fixture.balanceOf(accountId)).toBe(prices.name * 4);
  await fixture.end(planId);
});

describe('the scan', () => {
  /** Moves all times back by an hour. */
  const age = async () =>
    await fixture.core.database.query(`UPDATE charge SET created_at = created_at - interval '2 hours'`);
  // Ignores rows that earlier tests left open.
  beforeEach(async () => {
    await fixture.core.database.query(
      `UPDATE issuance SET state = 'failed', closed_at = now() WHERE state = 'open'`,
    );
    await unused.settle(1_000);
  });
  const advance = async (limit: number) => {
    let steps = 1;
    while ((await unused.settle(limit)) === limit) steps += 1;
    return steps;
  };

  it('finds issuances that end later, in small steps too', async () => {
    const plans: string[] = [];
    for (let count = 0; count < 7; count += 1) plans.push((await pending()).planId);
    await age();
    await advance(3);
    for (const planId of [...plans].reverse()) {
      await fixture.end(planId);
      await advance(3);
      expect(await refunded(planId)).toBe(1);
    }
  });

  it('does not return to decided charges', async () => {
    for (let count = 0; count < 5; count += 1) {
      await attachOpen(fixture.core, (await pending()).planId, validity(0, 365));
    }
    const open = await pending();
    await attachOpen(fixture.core, (await pending()).planId, validity(0, 365));
    await age();
    await advance(2);
    const query = jest.spyOn(fixture.core.database, 'query');
    expect(await unused.settle(100)).toBe(2);
    expect(query).toHaveBeenCalledTimes(1);
    query.mockRestore();
    await fixture.end(open.planId);
    await advance(2);
    expect(await refunded(open.planId)).toBe(1);
    expect(await unused.settle(100)).toBe(1);
    expect(await unused.settle(100)).toBe(0);
  });
});
