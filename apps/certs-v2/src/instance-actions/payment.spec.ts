import { RunningApi, type Tenant } from '../testing/running-api';
import {
  activatePending,
  chargesOf,
  createObject,
  csrFor,
  issuancesOf,
  otherKeys,
  pathOf,
} from '../instances/testing/bought';

jest.setTimeout(60_000);

let api: RunningApi;
let tenant: Tenant;
beforeAll(async () => {
  api = await RunningApi.start({ CERTWRIGHT_MODE: 'production' });
  await api.database.query(`UPDATE product SET price_cents = 1000 WHERE name = 'paid_ca'`);
});
beforeEach(async () => {
  tenant = await api.tenant();
});
afterAll(() => api.stop());

const cn = 'www.example.com';
const buy = (fields: Record<string, string> = {}) => tenant.postForm(`${pathOf(cn)}/buy`, fields);
const deposit = async (cents: number) =>
  await api.database.query(
    `INSERT INTO account_balance (account_id, currency, balance_cents) VALUES ($1, 'USD', $2)
     ON CONFLICT (account_id) DO UPDATE SET balance_cents = account_balance.balance_cents + $2`,
    [tenant.accountId, cents],
  );

describe('where certificates have a price', () => {
  it('nothing is opened that is not paid for', async () => {
    await createObject(tenant, cn);
    await deposit(999);
    const { status, json } = await buy();
    expect([status, json.reason]).toEqual([402, 'payment_required']);
    expect([await issuancesOf(api, tenant), await chargesOf(api, tenant)]).toEqual([[], []]);
  });

  it('an instance that was charged for has an invoice, with the buyer’s note, that others see too', async () => {
    await createObject(tenant, cn);
    await deposit(1_000);
    const bought = (await buy({ invoice_note: 'Order 7', email_invoice_to: 'pay@example.com' })).json;
    expect(bought.invoice_id).toMatch(/^\d+-0*1$/);
    const invoices = await api.database.query(
      `SELECT number, total_cents, note, email_to FROM invoice WHERE account_id = $1`,
      [tenant.accountId],
    );
    expect(invoices).toEqual([
      { number: bought.invoice_id, total_cents: 1_000, note: 'Order 7', email_to: 'pay@example.com' },
    ]);
    await activatePending(api, tenant, cn);
    const again = (await tenant.post(`${pathOf(cn)}/reissue`)).json;
    expect([again.state, again.invoice_id]).toEqual(['pending', null]);
    const { json } = await tenant.get(`${pathOf(cn)}?expand=current&expand=pending`);
    expect([json.current.invoice_id, json.pending.invoice_id]).toEqual([bought.invoice_id, null]);
  });

  it('names that are added by a reissue are paid for, and what is refused leaves what was pending', async () => {
    await createObject(tenant, cn);
    await deposit(1_000);
    await buy();
    await activatePending(api, tenant, cn);
    const pending = (await tenant.post(`${pathOf(cn)}/reissue`)).json;
    const san = { type: 'dns', value: 'shop.example.com', approval_method: 'dns' };
    await tenant.post(pathOf(cn), { sans: [san] });
    const refused = await tenant.post(`${pathOf(cn)}/reissue`);
    expect([refused.status, refused.json.reason]).toEqual([402, 'payment_required']);
    expect((await tenant.get(`${pathOf(cn)}/instances/${pending.id}`)).json.state).toBe('pending');
    await deposit(1_000);
    const reissued = (await tenant.post(`${pathOf(cn)}/reissue`)).json;
    expect(reissued).toMatchObject({ state: 'pending', invoice_id: expect.stringMatching(/-0*2$/) });
    expect(reissued.sans).toMatchObject([{ value: 'shop.example.com', approval_method: 'dns' }]);
  });

  it('a purchase whose place another one takes is given back', async () => {
    await createObject(tenant, cn);
    await deposit(1_000);
    const first = (await buy()).json;
    await tenant.post(pathOf(cn), { csr: csrFor(cn, otherKeys) });
    const second = (await buy()).json;
    expect(await chargesOf(api, tenant)).toEqual([
      { kind: 'term', cents: 1_000, instance: String(second.id) },
    ]);
    expect((await tenant.get(`${pathOf(cn)}/instances/${first.id}`)).json.state).toBe('canceled');
    const [row] = await api.database.query(
      `SELECT balance_cents::int AS cents FROM account_balance WHERE account_id = $1`,
      [tenant.accountId],
    );
    expect(row).toEqual({ cents: 0 });
  });

  it('a reissue in place of a pending purchase takes over what was paid for it', async () => {
    await createObject(tenant, cn);
    await deposit(2_000);
    await buy();
    await activatePending(api, tenant, cn);
    const renewal = (await buy()).json;
    await tenant.post(pathOf(cn), { csr: csrFor(cn, otherKeys) });
    const { status, json } = await tenant.post(`${pathOf(cn)}/reissue`);
    expect([status, json.state, json.invoice_id]).toEqual([200, 'pending', renewal.invoice_id]);
    expect((await tenant.get(`${pathOf(cn)}/instances/${renewal.id}`)).json.state).toBe('canceled');
    expect((await chargesOf(api, tenant)).map(({ cents, instance }) => [cents, instance])).toEqual([
      [1_000, expect.any(String)],
      [1_000, String(json.id)],
    ]);
  });

  it('ten purchases at once pay once', async () => {
    await createObject(tenant, cn);
    await deposit(1_000_000);
    const responses = await Promise.all(Array.from({ length: 10 }, () => buy()));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await chargesOf(api, tenant)).toHaveLength(1);
  });
});
