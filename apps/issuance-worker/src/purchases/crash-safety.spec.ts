import { Transactions } from '@certwright/core-schema';
import { brokenRules } from '@certwright/core-testing';
import { FailingDatabase } from '@certwright/core-testing';
import { nothingPaid, prices, PurchaseFixture, purchasesOver } from '@certwright/core-testing';
import { UnusedCharges } from './unused-charges';

const two = ['a.example.com', 'b.example.com'];

let fixture: PurchaseFixture;
beforeAll(async () => {
  fixture = await PurchaseFixture.open();
}, 30_000);
afterAll(async () => await fixture.core.close());

/** Everything that a purchase may write. */
async function stateOf(planId: string): Promise<object> {
  const [state] = await fixture.core.database.query<[object]>(
    `SELECT paid_through, paid_names, terms_id, revision,
       (SELECT jsonb_agg(to_jsonb(issuance) ORDER BY id) FROM issuance WHERE plan_id = plan.id) AS issuances,
       (SELECT jsonb_agg(to_jsonb(charge) ORDER BY id) FROM charge WHERE plan_id = plan.id) AS charges,
       (SELECT jsonb_agg(to_jsonb(entry) ORDER BY id) FROM ledger_entry AS entry
        WHERE entry.account_id = plan.account_id) AS ledger,
       (SELECT jsonb_agg(to_jsonb(invoice) ORDER BY number) FROM invoice
        WHERE invoice.account_id = plan.account_id) AS invoices,
       (SELECT to_jsonb(balance) FROM account_balance AS balance WHERE balance.account_id = plan.account_id) AS balance,
       (SELECT count(*) FROM mail WHERE mail.account_id = plan.account_id) AS mails
     FROM plan WHERE id = $1`,
    [planId],
  );
  return state;
}

describe.each(['before', 'after'] as const)('the database connection fails %s a statement', (when) => {
  /** The plan has a charge to be refunded, so that every statement is needed. */
  const superseding = async () => {
    const accountId = await fixture.account(prices.name * 10);
    const planId = await fixture.plan(accountId, two);
    await fixture.buy(planId, { kind: 'term' });
    return { accountId, planId };
  };
  const buying = {
    kind: 'term',
    dnsNames: [...two, 'c.example.com'],
    emailInvoiceTo: 'books@example.com',
  } as const;

  it('of a purchase: it is stored completely or not at all, and the next one pays once', async () => {
    let nth = 1;
    for (; ; nth += 1) {
      const { accountId, planId } = await superseding();
      const before = await stateOf(planId);
      const failing = new FailingDatabase(fixture.core.database, nth, when);
      const through = new PurchaseFixtureOver(failing.source);
      const done = await through.buy(planId, buying).then(
        () => true,
        () => false,
      );
      const after = await stateOf(planId);
      expect(await brokenRules(fixture.core.database)).toEqual([]);
      const isCommitted = JSON.stringify(after) !== JSON.stringify(before);
      // Only a lost response to COMMIT leaves the purchase done.
      if (isCommitted && !done) expect(when).toBe('after');
      if (done) expect(isCommitted).toBe(true);
      if (isCommitted) expect(await fixture.balanceOf(accountId)).toBe(prices.name * 7);
      await fixture.buy(planId, buying);
      expect({ nth, balance: await fixture.balanceOf(accountId) }).toEqual({ nth, balance: prices.name * 7 });
      expect(await brokenRules(fixture.core.database)).toEqual([]);
      if (!failing.struck) break;
    }
    expect(nth).toBeGreaterThan(12);
  }, 120_000);

  it('of the sweep: an unused charge is refunded once', async () => {
    let nth = 1;
    for (; ; nth += 1) {
      const { accountId, planId } = await superseding();
      await fixture.buy(planId, { kind: 'as_paid', dnsNames: [...two, 'c.example.com'] });
      await fixture.end(planId);
      const { database, transactions } = fixture.core;
      const failing = new FailingDatabase(database, nth, when);
      const sweep = new UnusedCharges(failing.source, new Transactions(failing.source));
      await sweep.settle(1_000).catch(() => undefined);
      expect(await brokenRules(database)).toEqual([]);
      await new UnusedCharges(database, transactions).settle(1_000);
      await new UnusedCharges(database, transactions).settle(1_000);
      expect(await fixture.balanceOf(accountId)).toBe(prices.name * 10);
      expect(await fixture.paidOf(planId)).toEqual(nothingPaid);
      expect(await brokenRules(database)).toEqual([]);
      if (!failing.struck) break;
    }
    expect(nth).toBeGreaterThan(4);
  }, 120_000);
});

/** The same purchases over another connection. */
class PurchaseFixtureOver {
  constructor(private readonly source: FailingDatabase['source']) {}

  async buy(planId: string, buying: Parameters<PurchaseFixture['buy']>[1]): Promise<string> {
    const over = Object.assign(Object.create(fixture) as PurchaseFixture, {
      core: Object.assign(Object.create(fixture.core) as typeof fixture.core, {
        transactions: new Transactions(this.source),
      }),
    });
    return await over.buy(planId, buying, purchasesOver(this.source));
  }
}
