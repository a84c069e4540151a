import { Balances, Ledger } from '@certwright/billing';
import { ProductEntity } from '@certwright/core-schema';
import type { DataSource } from 'typeorm';
import { createAccount } from './accounts';
import { billingCommands } from './billing';
import { productCommands } from './products';
import { seedSandboxCommand } from './seed-sandbox';
import { adminFixture } from './testing/admin-fixture';

const admin = adminFixture();
let database: DataSource;
let accountId: string;

beforeAll(() => {
  database = admin.database;
});
beforeEach(async () => {
  accountId = await createAccount(database, 'Spec', null);
});

/** Runs `npm run admin -- …`. @returns the printed lines */
const run = async (...args: string[]) =>
  await admin.run([billingCommands, productCommands, seedSandboxCommand], ...args);
const billing = async (verb: string, ...args: string[]) =>
  await run('billing', verb, '--account', accountId, ...args);
const summaryOf = (balance: string, limit: string) =>
  `account ${accountId}: balance USD ${balance}, credit limit USD ${limit}`;

describe('billing', () => {
  it('shows an account without ledger entries', async () => {
    expect(await billing('show')).toEqual([summaryOf('0.00', '0.00')]);
  });

  it('credits, adjusts and limits, to the cent, and shows the entries, newest first', async () => {
    expect(await billing('credit', '--amount', '1.15')).toEqual([summaryOf('1.15', '0.00')]);
    expect(await billing('credit', '--amount', '0.29', '--note', 'wire 7')).toEqual([
      summaryOf('1.44', '0.00'),
    ]);
    expect(await billing('adjust', '--amount', '-2', '--note', 'chargeback')).toEqual([
      summaryOf('-0.56', '0.00'),
    ]);
    expect(await billing('limit', '--amount', '9999999999.99')).toEqual([
      summaryOf('-0.56', '9999999999.99'),
    ]);
    const [first, ...entries] = await billing('show');
    expect(first).toBe(summaryOf('-0.56', '9999999999.99'));
    expect(entries.map((entry) => entry.split('\t').slice(1))).toEqual([
      ['adjustment', 'USD -2.00', 'chargeback'],
      ['payment', 'USD 0.29', 'wire 7'],
      ['payment', 'USD 1.15', 'payment'],
    ]);
    expect(entries[0]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\t/);
    expect(await new Balances(database).of(accountId)).toMatchObject({ balanceCents: -56 });
  });

  it('keeps an account in the currency of its first amount', async () => {
    await billing('credit', '--amount', '5', '--currency', 'EUR');
    expect(await billing('credit', '--amount', '5')).toEqual([
      `account ${accountId}: balance EUR 10.00, credit limit EUR 0.00`,
    ]);
    await expect(billing('credit', '--amount', '5', '--currency', 'USD')).rejects.toThrow('is kept in EUR');
    await expect(billing('limit', '--amount', '5', '--currency', 'USD')).rejects.toThrow('is kept in EUR');
  });

  it.each([
    ['a payment of 0', 'credit --amount 0'],
    ['a negative payment', 'credit --amount -1'],
    ['an exponent', 'credit --amount 1e3'],
    ['a comma', 'credit --amount 1,50'],
    ['a third decimal place', 'credit --amount 1.005'],
    ['eleven digits', 'credit --amount 12345678901'],
    ['no amount', 'credit'],
    ['an invalid currency', 'credit --amount 1 --currency usd'],
    ['a note of two lines', 'credit --amount 1 --note a\nb'],
    ['a note with a lone surrogate', 'credit --amount 1 --note \u{D800}'],
    ['an empty note', 'credit --amount 1 --note '],
    ['a note that is too long', `credit --amount 1 --note ${'x'.repeat(501)}`],
    ['an adjustment without a reason', 'adjust --amount 1'],
    ['an adjustment of 0', 'adjust --amount 0 --note x'],
    ['a negative limit', 'limit --amount -0.01'],
  ])('refuses %s, and nothing changes', async (_, line) => {
    const [verb = '', ...args] = line.split(' ');
    await expect(billing(verb, ...args)).rejects.toThrow();
    expect(await new Ledger(database).newest(accountId, 10)).toEqual([]);
    expect(await billing('show')).toEqual([summaryOf('0.00', '0.00')]);
  });

  it.each(['7', '__proto__', "1'; --", ''])('refuses the account %j', async (account) => {
    await expect(run('billing', 'credit', '--account', account, '--amount', '1')).rejects.toThrow(
      /no account|not an account id/i,
    );
  });
});

describe('product set', () => {
  const product = async (name = 'paid_ca') =>
    await database.getRepository(ProductEntity).findOneByOrFail({ name });

  it('sets term and prices, exactly', async () => {
    await run(
      ...['product', 'set', 'paid_ca', '--term-days', '200', '--price', '15.95'],
      ...['--wildcard-price', '149.95', '--currency', 'EUR'],
    );
    expect(await product()).toMatchObject({
      termDays: 200,
      priceCents: 1_595,
      wildcardPriceCents: 14_995,
      currency: 'EUR',
    });
    await run('product', 'set', 'paid_ca', '--term-days', 'none', '--price', '0');
    expect(await product()).toMatchObject({ termDays: null, priceCents: 0, wildcardPriceCents: 14_995 });
  });

  it.each([
    ['--term-days', '0'],
    ['--term-days', '3654'],
    ['--term-days', '1.5'],
    ['--price', '-1'],
    ['--price', '10000.01'],
    ['--wildcard-price', '1.001'],
    ['--currency', 'euro'],
  ])('refuses %s %s', async (option, value) => {
    const before = await product();
    await expect(run('product', 'set', 'paid_ca', option, value)).rejects.toThrow();
    expect(await product()).toEqual(before);
  });
});

describe('seed-sandbox', () => {
  it('makes the product for extended validation available', async () => {
    expect(
      (await database.getRepository(ProductEntity).findOneByOrFail({ name: 'paid_ev_ca' })).available,
    ).toBe(false);
    const [seeded = '{}'] = await run('seed-sandbox', '--json');
    expect(JSON.parse(seeded)).toEqual({ account_id: expect.any(String), api_key: expect.any(String) });
    expect(
      (await database.getRepository(ProductEntity).findOneByOrFail({ name: 'paid_ev_ca' })).available,
    ).toBe(true);
  });
});
