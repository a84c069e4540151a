import { randomInt } from 'node:crypto';
import { attachOpen, validity } from '@certwright/core-testing';
import { Balances } from '@certwright/billing';
import { invoiceNumberOf, Invoices } from './invoices.repository';
import { brokenRules } from '@certwright/core-testing';
import { PurchaseFixture } from '@certwright/core-testing';

const one = ['a.example.com'];

let fixture: PurchaseFixture;
let invoices: Invoices;
beforeAll(async () => {
  fixture = await PurchaseFixture.open();
  invoices = new Invoices(fixture.core.database);
}, 30_000);
afterAll(async () => await fixture.core.close());

describe('invoices', () => {
  it('come page by page, newest first, those of the own account alone', async () => {
    const accountId = await fixture.account(100_000);
    const other = await fixture.account(100_000);
    for (const id of [accountId, accountId, other, accountId, accountId, accountId]) {
      await fixture.buy(await fixture.plan(id, one), { kind: 'term' });
    }
    const seen: string[] = [];
    for (let after: string | null = null; ;) {
      const page: readonly { readonly number: string }[] = await invoices.page(accountId, after, 2);
      seen.push(...page.map(({ number }) => number));
      if (page.length < 2) break;
      after = page.at(-1)?.number ?? null;
    }
    expect(seen).toEqual([5, 4, 3, 2, 1].map((number) => `${accountId}-000${number}`));
    expect(await invoices.page(accountId, `${other}-0001`, 10)).toEqual([]);
    expect(await invoices.page(accountId, 'none', 10)).toEqual([]);
  });

  it('are found by number in the own account alone', async () => {
    const accountId = await fixture.account(1_000);
    await fixture.buy(await fixture.plan(accountId, one), {
      kind: 'term',
      invoiceNote: 'for\nbooks',
      emailInvoiceTo: 'books@example.com',
    });
    expect(await invoices.find(accountId, `${accountId}-0001`)).toMatchObject({
      number: `${accountId}-0001`,
      totalCents: 1_000,
      currency: 'USD',
      note: 'for\nbooks',
      emailTo: 'books@example.com',
      refundedAt: null,
      lines: [{ quantity: 1, unitCents: 1_000, cents: 1_000 }],
    });
    const stranger = String(randomInt(1, 2 ** 47));
    expect(await invoices.find(stranger, `${accountId}-0001`)).toBeNull();
  });

  it('belong to the issuance that they paid, and to the one they were opened with', async () => {
    const accountId = await fixture.account(10_000);
    const planId = await fixture.plan(accountId, one);
    const first = await fixture.buy(planId, { kind: 'term' });
    const second = await fixture.buy(planId, { kind: 'as_paid', dnsNames: ['b.org'] });
    await attachOpen(fixture.core, planId, validity(0, 365));
    const free = await fixture.buy(planId, { kind: 'as_paid', dnsNames: one });
    await attachOpen(fixture.core, planId, validity(0, 365));
    const third = await fixture.buy(planId, { kind: 'term' });
    const fourth = await fixture.buy(planId, { kind: 'term' });
    const number = (running: number) => `${accountId}-000${running}`;
    const numbersOf = async (...issuanceIds: string[]) => {
      const rows: { number: string | null }[] = await fixture.core.database.query(
        `SELECT ${invoiceNumberOf('wanted.id')} AS number FROM unnest($1::bigint[]) AS wanted (id)`,
        [issuanceIds],
      );
      return rows.map((row) => row.number);
    };
    expect(await numbersOf(first, second, free, third, fourth)).toEqual([
      number(1),
      number(1),
      null,
      number(2),
      number(3),
    ]);
    const more = await fixture.buy(planId, { kind: 'as_paid', dnsNames: [...one, 'b.org', 'c.org'] });
    expect(await numbersOf(more)).toEqual([number(4)]);
  });
});

describe('the ledger', () => {
  const book = async (accountId: string, cents: number, currency = 'USD') =>
    await fixture.core.transactions.run(
      async (tx) =>
        await fixture.ledger.book(tx, { accountId, kind: 'adjustment', cents, currency, note: `n ${cents}` }),
    );

  it('makes the balance, also when many book at the same time', async () => {
    const accountId = await fixture.account(0);
    const balances = new Balances(fixture.core.database);
    expect(await balances.of(accountId)).toEqual({ balanceCents: 0, creditLimitCents: 0, currency: 'USD' });
    await Promise.all([1, 20, 300, -4].map(async (cents) => await book(accountId, cents)));
    expect((await balances.of(accountId)).balanceCents).toBe(317);
    const newest = await fixture.ledger.newest(accountId, 3);
    expect(newest).toHaveLength(3);
    expect(newest[0]).toMatchObject({ kind: 'adjustment', currency: 'USD' });
    expect(newest.map(({ note, cents }) => note === `n ${cents}`)).toEqual([true, true, true]);
  });

  it('keeps an account in one currency', async () => {
    const accountId = await fixture.account(100);
    await expect(book(accountId, 1, 'EUR')).rejects.toThrow('is kept in USD, not in EUR');
    const balances = new Balances(fixture.core.database);
    await expect(
      fixture.core.transactions.run(async (tx) => await balances.setCreditLimit(tx, accountId, 1, 'EUR')),
    ).rejects.toThrow('is kept in USD');
    expect(await balances.of(accountId)).toMatchObject({ balanceCents: 100, creditLimitCents: 0 });
  });

  afterAll(async () => expect(await brokenRules(fixture.core.database)).toEqual([]));
});
