import { certificateRequest, keyPair } from '../testing/certificate-request';
import { RunningApi, type Tenant } from '../testing/running-api';

const keys = keyPair('p256');
const csrFor = (...dnsNames: string[]) => certificateRequest(keys, { dnsNames });
const path = '/api/v3/orders/mine?expand=issuance';

let api: RunningApi;
let tenant: Tenant;

beforeAll(async () => {
  api = await RunningApi.start({ APPROVAL_URL: 'https://approve.example.net/web' });
});
beforeEach(async () => {
  tenant = await api.tenant();
});
afterAll(() => api.stop());

const create = async (order: object, of: Tenant = tenant) =>
  (await of.post('/api/v3/orders?expand=issuance', { name: 'mine', ...order })).json;

describe('issuance.names[].rule', () => {
  const order = {
    dns_names: ['example.com', 'www.example.net'],
    csr: csrFor('example.com', 'www.example.net'),
  };

  it('is the same for every name and order of the account, and at every look', async () => {
    const { issuance } = await create(order);
    const [first, second] = issuance.names;
    expect(first.rule.redirect_to).toMatch(/^https:\/\/approve\.example\.net\/web\/[a-z2-7]{32}$/);
    expect(second.rule).toEqual(first.rule);
    const again = await create({ ...order, name: 'another' });
    expect(again.issuance.names[0].rule).toEqual(first.rule);
    expect((await tenant.get(path)).json.issuance.names[0].rule).toEqual(first.rule);
    const [listed] = (await tenant.get('/api/v3/orders?expand=issuance')).json;
    expect(listed.issuance.names[0].rule).toEqual(first.rule);
  });

  it('is another one for another account', async () => {
    const other = await api.tenant();
    const [mine, theirs] = [await create(order), await create(order, other)];
    expect(theirs.issuance.names[0].rule.redirect_to).not.toBe(mine.issuance.names[0].rule.redirect_to);
  });

  it('is made once when several orders are created at the same time', async () => {
    const orders = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => await create({ ...order, name: `order ${index}` })),
    );
    const seen = new Set(orders.map(({ issuance }) => issuance.names[0].rule.redirect_to));
    expect(seen.size).toBe(1);
  });

  it('is null until there is one, and no GET makes it', async () => {
    const { accountId } = tenant;
    await create({ ...order, paused: true });
    const rules = async () =>
      await api.database.query(`SELECT secret FROM web_rule WHERE account_id = $1`, [accountId]);
    expect(await rules()).toHaveLength(1);
    await api.database.query(`DELETE FROM web_rule WHERE account_id = $1`, [accountId]);
    expect((await tenant.get(path)).json.issuance.names[0].rule).toBeNull();
    expect(await rules()).toEqual([]);
    const next = await create({ ...order, name: 'next', paused: true });
    expect((await tenant.get(path)).json.issuance.names[0].rule).toEqual(next.issuance.names[0].rule);
  });
});

describe('issuance.names[].email', () => {
  const order = {
    product: 'paid_ca',
    dns_names: ['example.com', '*.example.net', 'example.org'],
    approver_emails: { 'example.com': 'Admin@example.com', '*.example.net': 'hostmaster@example.net' },
    csr: csrFor('example.com'),
  };

  it('contains the address from approver_emails, and when it was mailed and approved', async () => {
    const { issuance } = await create(order);
    const notRequested = { asked_at: null, approved_at: null };
    expect(issuance.names.map(({ email }: { email: unknown }) => email)).toEqual([
      { address: 'admin@example.com', ...notRequested },
      { address: 'hostmaster@example.net', ...notRequested },
      null,
    ]);
    await requestApproval('example.com', 'admin@example.com', '2026-11-20T10:00:00Z', '2026-11-20T10:05:00Z');
    await requestApproval(
      '*.example.net',
      'admin@example.net',
      '2026-11-20T10:00:00Z',
      '2026-11-20T10:05:00Z',
    );

    const { names } = (await tenant.get(path)).json.issuance;
    expect(names[0].email).toEqual({
      address: 'admin@example.com',
      asked_at: '2026-11-20T10:00:00Z',
      approved_at: '2026-11-20T10:05:00Z',
    });
    // A request to another address does not count for this one.
    expect(names[1].email).toEqual({ address: 'hostmaster@example.net', ...notRequested });
    const [listed] = (await tenant.get('/api/v3/orders?expand=issuance')).json;
    expect(listed.issuance.names).toEqual(names);
  });

  async function requestApproval(dnsName: string, address: string, askedAt: string, approvedAt: string) {
    await api.database.query(
      `INSERT INTO email_approval (account_id, plan_id, dns_name, address, asked_at, approved_at)
       SELECT account_id, plan_id, $2, $3, $4, $5 FROM order_v3 WHERE account_id = $1`,
      [tenant.accountId, dnsName, address, askedAt, approvedAt],
    );
  }
});

describe('issuance.names[].next_check_at', () => {
  it('is the next attempt while a name is pending, and null once it is approved or no attempt is scheduled', async () => {
    const order = { dns_names: ['example.com', 'example.net'], csr: csrFor('example.com', 'example.net') };
    const { issuance } = await create(order);
    expect(issuance.names[0].next_check_at).toBe(issuance.next_attempt_at);
    await api.database.query(
      `UPDATE issuance SET approvals = jsonb_set(approvals, '{0,status}', '"approved"') WHERE account_id = $1`,
      [tenant.accountId],
    );
    const { names } = (await tenant.get(path)).json.issuance;
    expect(names.map(({ next_check_at }: { next_check_at: string }) => next_check_at)).toEqual([
      null,
      issuance.next_attempt_at,
    ]);
    const paused = (await tenant.post(path, { paused: true })).json.issuance;
    expect(paused.names[1].next_check_at).toBeNull();
  });
});
