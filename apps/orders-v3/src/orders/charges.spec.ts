import { Products } from '@certwright/ordering';
import { certificateRequest, keyPair } from '../testing/certificate-request';
import { RunningApi, type Tenant } from '../testing/running-api';

const csr = certificateRequest(keyPair('p256'), {});
const paid = { name: 'mine', dns_names: ['example.com', 'shop.example.com'], product: 'paid_ca', csr };
const path = '/api/v3/orders/mine';

let api: RunningApi;
let tenant: Tenant;

beforeAll(async () => {
  api = await RunningApi.start({ CERTWRIGHT_MODE: 'production' });
  await api.database.query(
    `UPDATE product SET price_cents = 1000, wildcard_price_cents = 5000 WHERE name = 'paid_ca'`,
  );
});
afterAll(() => api.stop());

/** An account with so much on it. */
async function tenantWith(cents: number): Promise<Tenant> {
  const created = await api.tenant();
  const { accountId } = created;
  await api.database.query(
    `WITH booked AS (
       INSERT INTO ledger_entry (account_id, kind, cents, currency, note) VALUES ($1, 'payment', $2, 'USD', 'spec'))
     INSERT INTO account_balance (account_id, currency, balance_cents) VALUES ($1, 'USD', $2)`,
    [accountId, cents],
  );
  return created;
}

const count = async (from: string): Promise<number> => {
  const [row] = await api.database.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM ${from} WHERE account_id = $1`,
    [tenant.accountId],
  );
  return row?.count ?? 0;
};
const balance = async (): Promise<number> => {
  const [row] = await api.database.query<{ balance_cents: string }>(
    `SELECT balance_cents FROM account_balance WHERE account_id = $1`,
    [tenant.accountId],
  );
  return Number(row?.balance_cents ?? 0);
};
const standing = async () => {
  const [row] = await api.database.query<{ through: number; names: number; state: string; expires: number }>(
    `SELECT extract(epoch FROM paid_through - now())::float8 / 86400 AS through, paid_names AS names,
       issuance.state, extract(epoch FROM issuance.expires_by - now())::float8 / 86400 AS expires
     FROM plan JOIN issuance ON issuance.plan_id = plan.id
     WHERE plan.account_id = $1 ORDER BY issuance.id DESC LIMIT 1`,
    [tenant.accountId],
  );
  return row;
};
/** The order's pending issuance leads to a certificate, and time goes by. */
const issuedAnd = async (daysLater: number) => {
  await api.database.query(
    `UPDATE issuance SET state = 'issued', closed_at = now() WHERE account_id = $1 AND state = 'open'`,
    [tenant.accountId],
  );
  for (const [table, column] of [
    ['plan', 'paid_through'],
    ['charge', 'paid_through'],
    ['issuance', 'expires_by'],
  ] as const) {
    await api.database.query(
      `UPDATE ${table} SET ${column} = ${column} - make_interval(hours => 24 * $2::int) WHERE account_id = $1`,
      [tenant.accountId, daysLater],
    );
  }
};

describe('an order of a product that has a price', () => {
  it('pays a term for all of its names when it is created', async () => {
    tenant = await tenantWith(2_500);
    expect((await tenant.post('/api/v3/orders', paid)).status).toBe(201);
    expect(await balance()).toBe(500);
    expect(await count('invoice')).toBe(1);
    const row = await standing();
    expect(row).toMatchObject({ names: 2, state: 'open' });
    expect(row?.through).toBeCloseTo(365, 1);
    expect(row?.expires).toBeCloseTo(365, 1);
  });

  it('is rejected with 402 when the account cannot pay, and creates nothing', async () => {
    tenant = await tenantWith(1_999);
    const response = await tenant.post('/api/v3/orders', paid, { 'idempotency-key': 'one' });
    expect(response.status).toBe(402);
    expect(response.json).toEqual({
      code: 'payment_required',
      message: 'USD 20.00 is due, and USD 19.99 is available. Please add to the balance of the account.',
    });
    for (const table of ['order_v3', 'plan', 'issuance', 'charge', 'invoice'])
      expect(await count(table)).toBe(0);
    expect(await balance()).toBe(1_999);
    await api.database.query(`UPDATE account_balance SET balance_cents = 2000 WHERE account_id = $1`, [
      tenant.accountId,
    ]);
    expect((await tenant.post('/api/v3/orders', paid, { 'idempotency-key': 'one' })).status).toBe(201);
  });

  it('is charged once for a creation that is repeated with its key', async () => {
    tenant = await tenantWith(5_000);
    for (let time = 0; time < 3; time += 1)
      expect((await tenant.post('/api/v3/orders', paid, { 'idempotency-key': 'k' })).status).toBe(201);
    expect(await balance()).toBe(3_000);
  });

  it('is free while paused, and is charged when it resumes', async () => {
    tenant = await tenantWith(2_000);
    await tenant.post('/api/v3/orders', { ...paid, paused: true });
    expect(await balance()).toBe(2_000);
    expect((await tenant.post(path, { paused: false })).status).toBe(200);
    expect(await balance()).toBe(0);
  });

  it('pays for names that are added, pro rata for what is left of the term', async () => {
    tenant = await tenantWith(3_000);
    await tenant.post('/api/v3/orders', paid);
    await issuedAnd(265);
    const names = [...paid.dns_names, 'www.example.com', 'new.example.com'];
    expect((await tenant.post(path, { dns_names: names })).status).toBe(200);
    // One added name for 100 of 365 days: the www. twin costs nothing.
    expect(await balance()).toBe(1_000 - 274);
    expect(await standing()).toMatchObject({ names: 3 });
  });

  it('is left as it is when added names cannot be paid', async () => {
    tenant = await tenantWith(2_000);
    await tenant.post('/api/v3/orders', paid);
    const before = await tenant.get(path);
    const names = [...paid.dns_names, 'new.example.com'];
    const response = await tenant.post(path, { dns_names: names });
    expect(response.status).toBe(402);
    expect((await tenant.get(path)).json).toEqual(before.json);
    expect(await count('issuance')).toBe(1);
  });

  it('is free for other changes, and its certificates end with the term', async () => {
    tenant = await tenantWith(2_000);
    await tenant.post('/api/v3/orders', paid);
    await issuedAnd(100);
    for (const change of [
      { muted: true },
      { dns_names: ['example.com'] },
      { auto_renew: false },
      { muted: false },
    ])
      expect((await tenant.post(path, change)).status).toBe(200);
    expect(await count('charge')).toBe(1);
    expect((await standing())?.expires).toBeCloseTo(265, 1);
  });

  it('is renewed by auto_renew set to true and at once back to false in the last 30 days, and charged once', async () => {
    tenant = await tenantWith(4_000);
    await tenant.post('/api/v3/orders', { ...paid, auto_renew: false });
    await issuedAnd(340);
    await tenant.post(path, { auto_renew: true });
    await tenant.post(path, { auto_renew: false });
    expect(await balance()).toBe(0);
    const row = await standing();
    expect(row?.state).toBe('open');
    expect(row?.through).toBeCloseTo(25 + 365, 1);
    expect(row?.expires).toBeCloseTo(365, 1);
  });

  it('gets back what it paid for names that were added for the rest of a term, when the next term is bought first', async () => {
    tenant = await tenantWith(6_000);
    await tenant.post('/api/v3/orders', { ...paid, auto_renew: false });
    await issuedAnd(340);
    await tenant.post(path, { dns_names: [...paid.dns_names, 'new.example.com'] });
    expect(await balance()).toBe(4_000 - 69);
    expect((await tenant.post(path, { auto_renew: true })).status).toBe(200);
    // Three names for the next term, and the added one for the rest of this one.
    expect(await balance()).toBe(4_000 - 3_000 - 69);
    const [added] = await api.database.query<{ refunded: boolean }>(
      `SELECT invoice.refunded_at IS NOT NULL AS refunded FROM charge JOIN invoice ON invoice.charge_id = charge.id
       WHERE charge.account_id = $1 AND kind = 'added_names'`,
      [tenant.accountId],
    );
    expect(added).toEqual({ refunded: true });
  });

  it('is issued again within the term by the same, before that', async () => {
    tenant = await tenantWith(4_000);
    await tenant.post('/api/v3/orders', { ...paid, auto_renew: false });
    await issuedAnd(200);
    await tenant.post(path, { auto_renew: true });
    expect(await count('charge')).toBe(1);
    expect((await standing())?.expires).toBeCloseTo(165, 1);
  });
});

describe('an order whose term is over', () => {
  beforeEach(async () => {
    tenant = await tenantWith(4_000);
    await tenant.post('/api/v3/orders', paid);
    await issuedAnd(400);
  });

  it.each([{ muted: true }, { auto_renew: false }, { paused: true }])(
    'is not bought again by %j, and needs no balance for it',
    async (change) => {
      const response = await tenant.post(path, change);
      expect([response.status, response.json]).toEqual([200, expect.objectContaining(change)]);
      expect([await count('charge'), await count('issuance'), await balance()]).toEqual([1, 1, 2_000]);
      await api.database.query(`UPDATE account_balance SET balance_cents = 0 WHERE account_id = $1`, [
        tenant.accountId,
      ]);
      expect((await tenant.post(path, { muted: true, auto_renew: false })).status).toBe(200);
    },
  );

  it('keeps the free replacement of a revoked certificate when it is muted', async () => {
    await api.database.query(
      `INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at, expires_by)
       SELECT plan_id, account_id, terms_id, revision, 'open', '[]', now(), now() + interval '9 days'
       FROM issuance WHERE account_id = $1`,
      [tenant.accountId],
    );
    await tenant.post(path, { muted: true });
    expect([(await standing())?.state, await count('charge')]).toEqual(['open', 1]);
  });

  it.each([
    ['a new CSR', { csr: certificateRequest(keyPair('p384'), {}) }],
    ['turning auto_renew on', { auto_renew: true }],
    ['resuming', { paused: false }],
  ])('is bought again by %s', async (_, change) => {
    await tenant.post(path, { auto_renew: false, paused: 'paused' in change });
    expect((await tenant.post(path, change)).status).toBe(200);
    expect([await count('charge'), await balance()]).toEqual([2, 0]);
  });
});

describe('an order of a product that became unavailable', () => {
  beforeEach(async () => {
    tenant = await tenantWith(9_000);
    await tenant.post('/api/v3/orders', paid);
    const byName = Reflect.get(Products.prototype, 'byName') as Products['byName'];
    jest.spyOn(Products.prototype, 'byName').mockImplementation(async function (this: Products) {
      const offered = await byName.call(this);
      return new Map([...offered].map(([name, product]) => [name, { ...product, available: false }]));
    });
  });
  afterEach(() => jest.restoreAllMocks());

  it.each([
    { muted: true },
    { auto_renew: false },
    { csr: certificateRequest(keyPair('p384'), {}) },
    { dns_names: ['example.com'] },
  ])('is changed by %j after its term, without charge', async (change) => {
    await issuedAnd(400);
    expect((await tenant.post(path, change)).status).toBe(200);
    expect([await count('charge'), await count('issuance'), await balance()]).toEqual([1, 1, 7_000]);
  });

  it('is neither renewed early by auto_renew nor charged for added names', async () => {
    await tenant.post(path, { auto_renew: false });
    await issuedAnd(340);
    expect((await tenant.post(path, { auto_renew: true })).status).toBe(200);
    const dns_names = [...paid.dns_names, 'new.example.com'];
    expect((await tenant.post(path, { dns_names })).json).toMatchObject({ dns_names });
    expect([await count('charge'), await balance()]).toEqual([1, 7_000]);
    expect((await standing())?.state).not.toBe('open');
  });

  it('goes on with what is paid', async () => {
    await issuedAnd(100);
    expect((await tenant.post(path, { muted: true })).status).toBe(200);
    expect([await count('charge'), (await standing())?.state]).toEqual([1, 'open']);
  });
});

describe('an order of free_ca', () => {
  const free = {
    ...paid,
    product: 'free_ca',
    csr: certificateRequest(keyPair('p256'), { dnsNames: paid.dns_names }),
  };

  it('is free and needs no balance', async () => {
    tenant = await api.tenant();
    expect((await tenant.post('/api/v3/orders', free)).status).toBe(201);
    expect(await count('charge')).toBe(0);
    expect((await standing())?.expires).toBeNull();
  });

  it('is charged when its product changes to one with a price, and only then', async () => {
    tenant = await tenantWith(2_000);
    await tenant.post('/api/v3/orders', free);
    expect((await tenant.post(path, { product: 'paid_ca', csr, key_type: 'ecdsa' })).status).toBe(200);
    expect(await balance()).toBe(0);
  });
});
