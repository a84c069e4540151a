import type { OpenIssuance } from '../issuances/issuances';
import { attachOpen, validity } from '@certwright/core-testing';
import type { Tx } from '@certwright/core-schema';
import { Balances } from '@certwright/billing';
import { brokenRules } from '@certwright/core-testing';
import { nothingPaid, prices, PurchaseFixture } from '@certwright/core-testing';

const dayMs = 86_400_000;
const two = ['a.example.com', 'b.example.com'];

let fixture: PurchaseFixture;
beforeAll(async () => {
  fixture = await PurchaseFixture.open();
}, 30_000);
afterAll(async () => await fixture.core.close());
afterEach(async () => expect(await brokenRules(fixture.core.database)).toEqual([]));

const query = async <T>(statement: string, ...parameters: unknown[]): Promise<T[]> =>
  await fixture.core.database.query(statement, parameters);
const chargesOf = async (planId: string) =>
  await query<{ kind: string; cents: number; refunded: boolean; issuance_id: string }>(
    `SELECT kind, cents, refunded_at IS NOT NULL AS refunded, issuance_id FROM charge WHERE plan_id = $1 ORDER BY id`,
    planId,
  );
const issuancesOf = async (planId: string) =>
  await query<{ id: string; state: string; expires_by: Date | null }>(
    `SELECT id, state, expires_by FROM issuance WHERE plan_id = $1 ORDER BY id`,
    planId,
  );
const invoicesOf = async (accountId: string) =>
  await query<{
    number: string;
    total_cents: number;
    note: string | null;
    refunded: boolean;
    lines: object[];
  }>(
    `SELECT number, total_cents, note, refunded_at IS NOT NULL AS refunded, lines FROM invoice
     WHERE account_id = $1 ORDER BY number`,
    accountId,
  );
const daysFromNow = (at: Date | null | undefined) => ((at?.getTime() ?? NaN) - Date.now()) / dayMs;
const expectDays = (at: Date | null | undefined, days: number) =>
  expect(daysFromNow(at)).toBeCloseTo(days, 2);
/** The plan's open issuance leads to a certificate. */
const issue = async (planId: string, lasts = 365) =>
  await attachOpen(fixture.core, planId, validity(-0.1, lasts));

describe('a purchase', () => {
  it('opens the issuance and pays a term for it: charge, ledger, balance, invoice, plan', async () => {
    const accountId = await fixture.account(10_000);
    const planId = await fixture.plan(accountId, [...two, '*.example.org']);
    const issuanceId = await fixture.buy(planId, { kind: 'term', invoiceNote: 'PO 7' });
    const [issuance, ...others] = await issuancesOf(planId);
    expect(others).toEqual([]);
    expect(issuance).toMatchObject({ id: issuanceId, state: 'open' });
    expectDays(issuance?.expires_by, 365);
    expect(await chargesOf(planId)).toEqual([
      { kind: 'term', cents: 7_000, refunded: false, issuance_id: issuanceId },
    ]);
    expect(await fixture.balanceOf(accountId)).toBe(3_000);
    const paid = await fixture.paidOf(planId);
    expect(paid).toMatchObject({ paid_product: 'paid_ca', paid_names: 2, paid_wildcards: 1 });
    expectDays(paid.paid_through, 365);
    const [invoice] = await invoicesOf(accountId);
    expect(invoice).toMatchObject({ number: `${accountId}-0001`, total_cents: 7_000, note: 'PO 7' });
    expect(invoice?.lines).toMatchObject([
      { quantity: 2, unitCents: prices.name, cents: 2_000 },
      { quantity: 1, unitCents: prices.wildcard, cents: 5_000 },
    ]);
    expect(await fixture.count(`FROM mail WHERE account_id = $1`, accountId)).toBe(0);
  });

  it('sends a copy of the invoice to the named recipient', async () => {
    const accountId = await fixture.account(10_000);
    const planId = await fixture.plan(accountId, two);
    await fixture.buy(planId, { kind: 'term', emailInvoiceTo: 'books@example.com' });
    const mails = await query(
      `SELECT kind, recipient, facts, state FROM mail WHERE account_id = $1`,
      accountId,
    );
    expect(mails).toEqual([
      {
        kind: 'invoice',
        recipient: 'books@example.com',
        facts: { invoiceNumber: `${accountId}-0001` },
        state: 'pending',
      },
    ]);
    expect(await fixture.count(`FROM outbox WHERE job = 'send-mail'`)).toBe(1);
  });

  it('numbers the invoices of an account one after the other, beyond 9999 as well', async () => {
    const accountId = await fixture.account(100_000);
    const other = await fixture.account(100_000);
    for (const id of [accountId, other, accountId]) {
      await fixture.buy(await fixture.plan(id, ['a.example.com']), { kind: 'term' });
    }
    expect((await invoicesOf(accountId)).map(({ number }) => number)).toEqual([
      `${accountId}-0001`,
      `${accountId}-0002`,
    ]);
    const many = await fixture.account(100_000);
    await query(`UPDATE account_balance SET last_invoice = 9998 WHERE account_id = $1`, many);
    for (let count = 0; count < 2; count += 1)
      await fixture.buy(await fixture.plan(many, ['a.example.com']), { kind: 'term' });
    const numbers = (await invoicesOf(many)).map(({ number }) => number);
    expect(numbers.sort()).toEqual([`${many}-10000`, `${many}-9999`]);
    await query(
      `UPDATE invoice SET number = account_id || '-' || (split_part(number, '-', 2)::int - 9998) WHERE account_id = $1`,
      many,
    );
    await query(`UPDATE account_balance SET last_invoice = 2 WHERE account_id = $1`, many);
  });

  it('prolongs the running term of the same product, and its certificate lasts a term from now on', async () => {
    const accountId = await fixture.account(10_000);
    const planId = await fixture.plan(accountId, two);
    await fixture.buy(planId, { kind: 'term' });
    await issue(planId);
    await fixture.buy(planId, { kind: 'term' });
    expectDays((await fixture.paidOf(planId)).paid_through, 730);
    expectDays((await issuancesOf(planId))[1]?.expires_by, 365);
    expect((await chargesOf(planId)).map(({ cents }) => cents)).toEqual([2_000, 2_000]);
  });
});

describe('an account that cannot pay', () => {
  const message = (available: string) =>
    `USD 20.00 is due, and USD ${available} is available. Please add to the balance of the account.`;

  it.each([
    ['has no balance', 0, '0.00'],
    ['has a cent too little', 1_999, '19.99'],
  ])(
    'gets an error with the amount due and the balance, and nothing changes, when it %s',
    async (_, cents, available) => {
      const accountId = await fixture.account(cents);
      const planId = await fixture.plan(accountId, two);
      await expect(fixture.buy(planId, { kind: 'term' })).rejects.toMatchObject({
        code: 'payment_required',
        message: message(available),
      });
      expect(await issuancesOf(planId)).toEqual([]);
      expect(await chargesOf(planId)).toEqual([]);
      expect(await invoicesOf(accountId)).toEqual([]);
      expect(await fixture.paidOf(planId)).toEqual(nothingPaid);
      expect(await fixture.balanceOf(accountId)).toBe(cents);
    },
  );

  it('may be overdrawn down to its credit limit', async () => {
    const accountId = await fixture.account(1_000);
    const balances = new Balances(fixture.core.database);
    await fixture.core.transactions.run(
      async (tx) => await balances.setCreditLimit(tx, accountId, 1_000, 'USD'),
    );
    await fixture.buy(await fixture.plan(accountId, two), { kind: 'term' });
    expect(await balances.of(accountId)).toEqual({
      balanceCents: -1_000,
      creditLimitCents: 1_000,
      currency: 'USD',
    });
    const more = await fixture.plan(accountId, ['a.example.com']);
    await expect(fixture.buy(more, { kind: 'term' })).rejects.toMatchObject({
      message: expect.stringContaining('USD 0.00 is available') as string,
    });
  });

  it('is one that is kept in another currency', async () => {
    const accountId = await fixture.account(0);
    const booking = { accountId, kind: 'payment', cents: 99_999, currency: 'EUR', note: '' } as const;
    await fixture.core.transactions.run(async (tx) => await fixture.ledger.book(tx, booking));
    await expect(fixture.buy(await fixture.plan(accountId, two), { kind: 'term' })).rejects.toMatchObject({
      code: 'payment_required',
      message: 'USD 20.00 is due, but the account is kept in EUR. Please ask the operator.',
    });
  });

  it('is refused for its balance, not for its currency, while it never had money', async () => {
    await query(`UPDATE product SET currency = 'EUR' WHERE name = 'paid_ca'`);
    const planId = await fixture.plan(await fixture.account(0), two);
    await expect(fixture.buy(planId, { kind: 'term' })).rejects.toMatchObject({
      code: 'payment_required',
      message: 'EUR 20.00 is due, and EUR 0.00 is available. Please add to the balance of the account.',
    });
    await query(`UPDATE product SET currency = 'USD' WHERE name = 'paid_ca'`);
  });

  it('is any account where more is due than a charge can hold', async () => {
    const accountId = await fixture.account(2 ** 40);
    await query(`UPDATE product SET price_cents = 2000000000 WHERE name = 'paid_ev_ca'`);
    const planId = await fixture.plan(accountId, two, 'paid_ev_ca');
    await expect(fixture.buy(planId, { kind: 'term' })).rejects.toMatchObject({
      code: 'payment_required',
      message: expect.stringContaining('USD 40000000.00 is due') as string,
    });
    await query(`UPDATE product SET price_cents = $1 WHERE name = 'paid_ev_ca'`, prices.name);
  });

  it('keeps its running term, its open issuance, and their charges', async () => {
    const accountId = await fixture.account(2_000);
    const planId = await fixture.plan(accountId, two);
    const first = await fixture.buy(planId, { kind: 'term' });
    const before = await fixture.paidOf(planId);
    await expect(
      fixture.buy(planId, { kind: 'as_paid', dnsNames: [...two, 'c.example.com'] }),
    ).rejects.toMatchObject({ code: 'payment_required' });
    expect((await issuancesOf(planId)).map(({ id, state }) => [id, state])).toEqual([[first, 'open']]);
    expect(await fixture.paidOf(planId)).toEqual(before);
  });
});

describe('what the running term covers', () => {
  it('is issued again without charge, and ends when the certificate in use does', async () => {
    const accountId = await fixture.account(10_000);
    const planId = await fixture.plan(accountId, two);
    await fixture.buy(planId, { kind: 'term' });
    await issue(planId);
    await fixture.buy(planId, { kind: 'term' });
    await issue(planId);
    await fixture.buy(planId, { kind: 'as_paid', dnsNames: ['x.example.com'] });
    const issuances = await issuancesOf(planId);
    expect(issuances[2]?.expires_by).toEqual(issuances[1]?.expires_by);
    expect(await chargesOf(planId)).toHaveLength(2);
  });

  it('ends with the term when no certificate is in use', async () => {
    const planId = await fixture.plan(await fixture.account(10_000), two);
    await fixture.buy(planId, { kind: 'term' });
    const { certificateId } = await issue(planId);
    await query(`UPDATE certificate SET is_current = false, revoked_at = now() WHERE id = $1`, certificateId);
    await fixture.buy(planId, { kind: 'as_paid' });
    expect((await issuancesOf(planId))[1]?.expires_by).toEqual((await fixture.paidOf(planId)).paid_through);
  });

  it('grows by added names, for the remaining time', async () => {
    const accountId = await fixture.account(10_000);
    const planId = await fixture.plan(accountId, two);
    await fixture.buy(planId, { kind: 'term' });
    await issue(planId);
    await query(`UPDATE plan SET paid_through = paid_through - interval '6360 hours' WHERE id = $1`, planId);
    await query(
      `UPDATE charge SET paid_through = paid_through - interval '6360 hours' WHERE plan_id = $1`,
      planId,
    );
    const issuanceId = await fixture.buy(planId, { kind: 'as_paid', dnsNames: [...two, 'c.example.com'] });
    expect((await chargesOf(planId))[1]).toEqual({
      kind: 'added_names',
      cents: 274,
      refunded: false,
      issuance_id: issuanceId,
    });
    expect(await fixture.paidOf(planId)).toMatchObject({ paid_names: 3 });
    expect(await fixture.balanceOf(accountId)).toBe(10_000 - 2_000 - 274);
  });
});

describe('when newer details supersede an open issuance', () => {
  it('the new issuance uses the term bought for it, together with the additions', async () => {
    const accountId = await fixture.account(10_000);
    const planId = await fixture.plan(accountId, two);
    await fixture.buy(planId, { kind: 'term' });
    const last = await fixture.buy(planId, { kind: 'as_paid', dnsNames: [...two, 'c.example.com'] });
    expect(await chargesOf(planId)).toEqual([
      { kind: 'term', cents: 2_000, refunded: false, issuance_id: last },
      { kind: 'added_names', cents: 1_000, refunded: false, issuance_id: last },
    ]);
    const [first, second] = await issuancesOf(planId);
    expect(first?.state).toBe('superseded');
    expect(second?.expires_by).toEqual(first?.expires_by);
  });

  it('a bought year stays a year, although a certificate of an older term is in use', async () => {
    const planId = await fixture.plan(await fixture.account(10_000), two);
    await fixture.buy(planId, { kind: 'term' });
    await issue(planId);
    await query(
      `UPDATE issuance SET expires_by = expires_by - interval '8160 hours' WHERE plan_id = $1`,
      planId,
    );
    await fixture.buy(planId, { kind: 'term' });
    await fixture.buy(planId, { kind: 'as_paid', dnsNames: ['x.example.com'] });
    expectDays((await issuancesOf(planId))[2]?.expires_by, 365);
  });

  it('a term that is bought again is charged once: the previous one is refunded', async () => {
    const accountId = await fixture.account(3_000);
    const planId = await fixture.plan(accountId, two);
    await fixture.buy(planId, { kind: 'term' });
    await fixture.buy(planId, { kind: 'term', dnsNames: [...two, 'c.example.com'] });
    expect(await fixture.balanceOf(accountId)).toBe(0);
    expect((await chargesOf(planId)).map(({ cents, refunded }) => [cents, refunded])).toEqual([
      [2_000, true],
      [3_000, false],
    ]);
    expect((await invoicesOf(accountId)).map(({ refunded }) => refunded)).toEqual([true, false]);
    const paid = await fixture.paidOf(planId);
    expect(paid.paid_names).toBe(3);
    expectDays(paid.paid_through, 365);
  });

  it('another product refunds the previous one, and switching back buys it again', async () => {
    const accountId = await fixture.account(10_000);
    const planId = await fixture.plan(accountId, two);
    await fixture.buy(planId, { kind: 'term' });
    await issue(planId);
    const before = await fixture.paidOf(planId);
    await fixture.buy(planId, { kind: 'as_paid', product: 'paid_ev_ca' });
    expect((await fixture.paidOf(planId)).paid_product).toBe('paid_ev_ca');
    expect(await fixture.balanceOf(accountId)).toBe(6_000);
    await fixture.buy(planId, { kind: 'as_paid', product: 'paid_ca' });
    expect(await fixture.paidOf(planId)).toEqual(before);
    expect(await fixture.balanceOf(accountId)).toBe(8_000);
  });

  it('a charge that paid for a certificate is never refunded', async () => {
    const accountId = await fixture.account(10_000);
    const planId = await fixture.plan(accountId, two);
    await fixture.buy(planId, { kind: 'term' });
    await issue(planId);
    await fixture.buy(planId, { kind: 'term' });
    await fixture.buy(planId, { kind: 'term' });
    expect((await chargesOf(planId)).map(({ refunded }) => refunded)).toEqual([false, true, false]);
    expectDays((await fixture.paidOf(planId)).paid_through, 730);
  });
});

describe('a product that is not sold by time', () => {
  it('is opened with no statement more, has no charge and no end', async () => {
    const accountId = await fixture.account(0);
    const product = await fixture.product('free_ca');
    const open = async (work: (tx: Tx, opening: OpenIssuance) => Promise<unknown>) => {
      const planId = await fixture.plan(accountId, two, 'free_ca');
      const [plan] = await query<{ terms_id: string }>(`SELECT terms_id FROM plan WHERE id = $1`, planId);
      const opening = { planId, accountId, termsId: String(plan?.terms_id), revision: 1, settlingMs: 0 };
      const statements = await fixture.core.transactions.run(async (tx) => {
        const spy = jest.spyOn(tx, 'query');
        await work(tx, { ...opening, dnsNames: two });
        return spy.mock.calls.length;
      });
      expect(await chargesOf(planId)).toEqual([]);
      expect(await issuancesOf(planId)).toMatchObject([{ expires_by: null }]);
      return statements;
    };
    const plain = await open(async (tx, opening) => await fixture.core.issuances.open(tx, opening));
    const bought = await open(
      async (tx, opening) => await fixture.purchases.open(tx, { ...opening, product }, { kind: 'term' }),
    );
    expect(bought).toBe(plain);
  });
});

describe('when everything was revoked', () => {
  it('covers no names any more and refunds nothing', async () => {
    const accountId = await fixture.account(10_000);
    const planId = await fixture.plan(accountId, two);
    await fixture.buy(planId, { kind: 'term' });
    await issue(planId);
    await query(`UPDATE plan SET replacement_paid = true WHERE id = $1`, planId);
    await fixture.core.transactions.run(async (tx) => await fixture.purchases.endPaidTerm(tx, planId));
    expect(await fixture.paidOf(planId)).toEqual(nothingPaid);
    expect(await fixture.count(`FROM plan WHERE id = $1 AND replacement_paid`, planId)).toBe(0);
    expect(await fixture.balanceOf(accountId)).toBe(8_000);
    await fixture.buy(planId, { kind: 'as_paid' });
    expect(await fixture.balanceOf(accountId)).toBe(6_000);
  });
});

describe('a quote', () => {
  const quote = async (planId: string | null, kind: 'term' | 'as_paid', dnsNames = two) =>
    await fixture.purchases.quote({ planId, product: await fixture.product('paid_ca'), dnsNames, kind });

  it('equals the price of the purchase, and changes nothing', async () => {
    const accountId = await fixture.account(10_000);
    const planId = await fixture.plan(accountId, two);
    expect(await quote(null, 'term')).toMatchObject({ cents: 2_000, currency: 'USD', termDays: 365 });
    expect(await quote(planId, 'as_paid')).toEqual(await quote(null, 'term'));
    expect(await chargesOf(planId)).toEqual([]);
    await fixture.buy(planId, { kind: 'term' });
    const [invoice] = await invoicesOf(accountId);
    expect((await quote(null, 'term')).lines).toEqual(invoice?.lines);
    expect(await quote(planId, 'as_paid')).toMatchObject({ cents: 0, lines: [] });
    expect((await quote(planId, 'as_paid', [...two, 'c.example.com'])).cents).toBe(1_000);
    // The charge of the open issuance would be refunded.
    expect((await quote(planId, 'term')).cents).toBe(2_000);
  });

  it('is zero for a product that is not sold by time', async () => {
    const product = await fixture.product('free_ca');
    expect(await fixture.purchases.quote({ planId: null, product, dnsNames: two, kind: 'term' })).toEqual({
      cents: 0,
      currency: 'USD',
      lines: [],
      termDays: null,
    });
  });
});

describe('a sandbox', () => {
  beforeAll(async () => void (await query(`INSERT INTO deployment (mode) VALUES ('sandbox')`)));
  afterAll(async () => void (await query(`DELETE FROM deployment`)));

  it('sells the same terms free of charge: a charge of zero, no ledger entry, no invoice, no mail', async () => {
    const accountId = await fixture.account(0);
    const planId = await fixture.plan(accountId, two);
    const issuanceId = await fixture.buy(planId, { kind: 'term', emailInvoiceTo: 'books@example.com' });
    expect(await chargesOf(planId)).toEqual([
      { kind: 'term', cents: 0, refunded: false, issuance_id: issuanceId },
    ]);
    expect(await invoicesOf(accountId)).toEqual([]);
    expect(await fixture.count(`FROM mail WHERE account_id = $1`, accountId)).toBe(0);
    expectDays((await fixture.paidOf(planId)).paid_through, 365);
    const product = await fixture.product('paid_ca');
    const request = { planId: null, product, dnsNames: two, kind: 'term' } as const;
    expect(await fixture.purchases.quote(request)).toMatchObject({
      cents: 0,
      lines: [{ quantity: 2, unitCents: 0, cents: 0 }],
    });
  });
});
