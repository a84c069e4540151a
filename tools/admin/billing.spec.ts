import { Balances, Ledger } from '@certwright/billing';
import { ProductEntity } from '@certwright/core-schema';
import { eventually } from '@certwright/testing';
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
    expect(await billing('credit', '--amount', '1.15', '--reference', 'wire 6')).toEqual([
      summaryOf('1.15', '0.00'),
    ]);
    expect(await billing('credit', '--amount', '0.29', '--reference', 'wire 7', '--note', 'late')).toEqual([
      summaryOf('1.44', '0.00'),
    ]);
    expect(await billing('adjust', '--amount', '-2', '--reference', 'T-1', '--note', 'chargeback')).toEqual([
      summaryOf('-0.56', '0.00'),
    ]);
    expect(await billing('limit', '--amount', '9999999999.99')).toEqual([
      summaryOf('-0.56', '9999999999.99'),
    ]);
    const [first, ...entries] = await billing('show');
    expect(first).toBe(summaryOf('-0.56', '9999999999.99'));
    expect(entries.map((entry) => entry.split('\t').slice(1))).toEqual([
      ['adjustment', 'USD -2.00', 'chargeback', 'T-1'],
      ['payment', 'USD 0.29', 'late', 'wire 7'],
      ['payment', 'USD 1.15', 'payment', 'wire 6'],
    ]);
    expect(entries[0]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\t/);
    expect(await new Balances(database).of(accountId)).toMatchObject({ balanceCents: -56 });
  });

  it('keeps an account in the currency of its first amount', async () => {
    await billing('credit', '--amount', '5', '--currency', 'EUR', '--reference', '1');
    expect(await billing('credit', '--amount', '5', '--reference', '2')).toEqual([
      `account ${accountId}: balance EUR 10.00, credit limit EUR 0.00`,
    ]);
    await expect(billing('credit', '--amount', '5', '--currency', 'USD', '--reference', '3')).rejects.toThrow(
      'is kept in EUR',
    );
    await expect(billing('limit', '--amount', '5', '--currency', 'USD')).rejects.toThrow('is kept in EUR');
  });

  it.each([
    ['a payment of 0', 'credit --reference R --amount 0'],
    ['a negative payment', 'credit --reference R --amount -1'],
    ['an exponent', 'credit --reference R --amount 1e3'],
    ['a comma', 'credit --reference R --amount 1,50'],
    ['a third decimal place', 'credit --reference R --amount 1.005'],
    ['eleven digits', 'credit --reference R --amount 12345678901'],
    ['no amount', 'credit --reference R'],
    ['no reference', 'credit --amount 1'],
    ['an adjustment without a reference', 'adjust --amount 1 --note x'],
    ['an empty reference', 'credit --amount 1 --reference '],
    ['a reference of two lines', 'credit --amount 1 --reference a\nb'],
    ['a reference that is too long', `credit --amount 1 --reference ${'x'.repeat(101)}`],
    ['an invalid currency', 'credit --reference R --amount 1 --currency usd'],
    ['a note of two lines', 'credit --reference R --amount 1 --note a\nb'],
    ['a note with a lone surrogate', 'credit --reference R --amount 1 --note \u{D800}'],
    ['an empty note', 'credit --reference R --amount 1 --note '],
    ['a note that is too long', `credit --reference R --amount 1 --note ${'x'.repeat(501)}`],
    ['an adjustment without a reason', 'adjust --reference R --amount 1'],
    ['an adjustment of 0', 'adjust --reference R --amount 0 --note x'],
    ['a negative limit', 'limit --amount -0.01'],
  ])('refuses %s, and nothing changes', async (_, line) => {
    const [verb = '', ...args] = line.split(' ');
    await expect(billing(verb, ...args)).rejects.toThrow();
    expect(await new Ledger(database).newest(accountId, 10)).toEqual([]);
    expect(await billing('show')).toEqual([summaryOf('0.00', '0.00')]);
  });

  it.each(['7', '__proto__', "1'; --", ''])('refuses the account %j', async (account) => {
    await expect(
      run('billing', 'credit', '--account', account, '--amount', '1', '--reference', 'R'),
    ).rejects.toThrow(/no account|not an account id/i);
  });
});

describe('the currency of an account without a balance', () => {
  const credit = async (...args: string[]) =>
    await billing('credit', '--amount', '5', '--reference', 'R', ...args);
  const inEuros = () => [`account ${accountId}: balance EUR 5.00, credit limit EUR 0.00`];
  const selling = async (currency: string, name: string) => {
    await run('product', 'set', name, '--currency', currency, '--available', 'true');
  };
  afterEach(async () => {
    await run('product', 'set', 'paid_ca', '--currency', 'USD', '--available', 'true');
    await run('product', 'set', 'paid_ev_ca', '--currency', 'USD', '--available', 'false');
  });

  it('is that of the products that are sold', async () => {
    await selling('EUR', 'paid_ca');
    expect(await billing('show')).toEqual([`account ${accountId}: balance EUR 0.00, credit limit EUR 0.00`]);
    expect(await credit()).toEqual(inEuros());
  });

  it('has to be named when products are sold in several', async () => {
    await selling('EUR', 'paid_ca');
    await selling('USD', 'paid_ev_ca');
    await expect(credit()).rejects.toThrow(
      `Account ${accountId} has no currency yet, and products are sold in EUR, USD: name its currency.`,
    );
    await run('product', 'set', 'paid_ca', '--available', 'false');
    await run('product', 'set', 'paid_ev_ca', '--available', 'false');
    await expect(credit()).rejects.toThrow('no product is sold: name its currency.');
    expect(await credit('--currency', 'EUR')).toEqual(inEuros());
  });

  it('is changed until an amount is in it', async () => {
    await billing('limit', '--amount', '0');
    expect(await credit('--currency', 'EUR')).toEqual(inEuros());
    accountId = await createAccount(database, 'Other', null);
    await billing('limit', '--amount', '7');
    await expect(credit('--currency', 'EUR')).rejects.toThrow(
      `Account ${accountId} is kept in USD, not in EUR.`,
    );
  });

  it('is that of a command that names one, for a command at the same time that names none', async () => {
    const first = database.createQueryRunner();
    await first.startTransaction();
    await first.query(`INSERT INTO account_balance (account_id, currency) VALUES ($1, 'EUR')`, [accountId]);
    const second = credit();
    await eventually(async () => {
      const waiting: unknown[] = await database.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      expect(waiting).toHaveLength(1);
    });
    await first.commitTransaction();
    await first.release();
    expect(await second).toEqual(inEuros());
  });
});

describe('a booking with a reference that is booked already', () => {
  const credit = async (amount: string, ...args: string[]) =>
    await billing('credit', '--amount', amount, '--reference', 'wire 7', ...args);
  const entries = async () => await new Ledger(database).newest(accountId, 10);

  it('changes nothing when it is the same', async () => {
    await credit('500', '--note', 'wired');
    const booked = await entries();
    expect(await credit('500.00', '--note', 'again')).toEqual([
      expect.stringMatching(
        /^account \d+: "wire 7" is already booked, a payment of USD 500\.00 at 20\S+Z; nothing was changed$/,
      ),
      summaryOf('500.00', '0.00'),
    ]);
    expect(await credit('500', '--reference', '  wire 7 ')).toContain(summaryOf('500.00', '0.00'));
    expect(await entries()).toEqual(booked);
  });

  it('is booked once when it is repeated at the same time', async () => {
    await Promise.all([credit('5'), credit('5'), credit('5')]);
    expect(await billing('show')).toHaveLength(2);
    expect(await new Balances(database).of(accountId)).toMatchObject({ balanceCents: 500 });
  });

  it.each([
    ['another amount', 'credit --amount 50', 'USD 500.00, not a payment of USD 50.00'],
    ['another kind', 'adjust --amount 500 --note x', 'USD 500.00, not an adjustment of USD 500.00'],
  ])('is refused with both values when it has %s', async (_, line, values) => {
    await credit('500');
    const booked = await entries();
    const [verb = '', ...args] = line.split(' ');
    await expect(billing(verb, ...args, '--reference', 'wire 7')).rejects.toThrow(
      `The reference "wire 7" of account ${accountId} is a payment of ${values}. Nothing was changed.`,
    );
    expect(await entries()).toEqual(booked);
    expect(await billing('show')).toContain(summaryOf('500.00', '0.00'));
  });

  it('needs the newest migration, without which the ledger can still be shown', async () => {
    await credit('5');
    await database.query('ALTER TABLE ledger_entry RENAME reference TO later');
    const [shown, refused] = await Promise.allSettled([billing('show'), credit('5')]);
    await database.query('ALTER TABLE ledger_entry RENAME later TO reference');
    expect(shown).toMatchObject({ status: 'fulfilled' });
    expect(refused).toMatchObject({
      reason: expect.objectContaining({ message: 'column "reference" does not exist' }) as Error,
    });
  });

  it('counts for its account alone', async () => {
    await credit('5');
    const other = await createAccount(database, 'Other', null);
    const line = ['billing', 'credit', '--account', other, '--amount', '7', '--reference', 'wire 7'];
    expect(await run(...line)).toEqual([`account ${other}: balance USD 7.00, credit limit USD 0.00`]);
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
