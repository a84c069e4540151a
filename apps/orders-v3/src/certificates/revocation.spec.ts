import type { ReceivedResponse } from '@certwright/testing';
import { certificateRequest, keyPair } from '../testing/certificate-request';
import { attachCertificate, RunningApi, type Tenant } from '../testing/running-api';

const csr = certificateRequest(keyPair('p256'), { dnsNames: ['example.com'] });
const day = 86_400_000;

let api: RunningApi;
let tenant: Tenant;
let pubkeySha256: string;

beforeAll(async () => {
  api = await RunningApi.start();
});
beforeEach(async () => {
  tenant = await api.tenant();
  const { json } = await tenant.post('/api/v3/orders', { name: 'mine', dns_names: ['example.com'], csr });
  pubkeySha256 = json.pubkey_sha256;
  // What the worker does when it attaches: nothing is under way any more.
  await api.database.query(
    `UPDATE issuance SET state = 'issued', closed_at = now() WHERE account_id = $1 AND state = 'open'`,
    [tenant.accountId],
  );
});
afterAll(() => api.stop());

const attach = (change: Partial<Parameters<typeof attachCertificate>[3]> = {}) =>
  attachCertificate(api, tenant, 'mine', { dnsNames: ['example.com'], pubkeySha256, ...change });

const revoke = (id: number, body?: unknown, headers: Record<string, string> = {}) =>
  tenant.call('POST', `/api/v3/orders/mine/certs/${id}/revoke`, { body, headers });

const storedReason = async (id: number) => {
  const [row] = await api.database.query<{ revocation_reason: number | null }>(
    `SELECT revocation_reason FROM certificate WHERE id = $1`,
    [id],
  );
  return row?.revocation_reason;
};

describe('POST /api/v3/orders/{ORDER_NAME}/certs/{ID}/revoke', () => {
  it('returns the certificate object, revoked, and the order has no current certificate any more', async () => {
    const id = await attach();
    const response = await revoke(id, { reason: 'superseded' });
    expect(response.status).toBe(200);
    expect(response.json).toMatchObject({ id, state: 'revoked', current: false, dns_names: ['example.com'] });
    expect((await tenant.get(`/api/v3/orders/mine/certs/${id}`)).json).toEqual(response.json);
    expect((await tenant.get('/api/v3/orders/mine?expand=current_cert')).json.current_cert).toBeNull();
  });

  it.each([
    ['no body', undefined, 0],
    ['an empty object', {}, 0],
    ['a name', { reason: 'affiliationChanged' }, 3],
    ['a number', { reason: 5 }, 5],
    ['the number 0', { reason: 0 }, 0],
  ])('takes %s', async (_, body, reason) => {
    const id = await attach();
    expect((await revoke(id, body)).status).toBe(200);
    expect(await storedReason(id)).toBe(reason);
  });

  it.each([
    ['a reason that no subscriber gives', { reason: 'cACompromise' }, 'reason'],
    ['a number as text', { reason: '4' }, 'reason'],
    ['null', { reason: null }, 'reason'],
    ['a name of a prototype', { reason: 'constructor' }, 'reason'],
    ['an unknown member', { reasons: 4 }, 'reasons'],
  ])('refuses %s, and revokes nothing', async (_, body, field) => {
    const id = await attach();
    expect(await revoke(id, body)).toMatchObject({
      status: 400,
      json: { code: 'bad_request', sub_errors: [{ field, code: 'invalid_value' }] },
    });
    expect((await revoke(id, [])).status).toBe(400);
    expect((await tenant.get(`/api/v3/orders/mine/certs/${id}`)).json.state).toBe('valid');
  });

  it('returns the same when repeated and keeps the first reason; keyCompromise can be reported later', async () => {
    const id = await attach();
    const first = await revoke(id, { reason: 4 });
    expect((await revoke(id, { reason: 5 })).text).toBe(first.text);
    expect(await storedReason(id)).toBe(4);
    expect((await revoke(id, { reason: 'keyCompromise' })).text).toBe(first.text);
    expect(await storedReason(id)).toBe(1);
  });

  it('is 409 conflict for an expired certificate, revoked before or not', async () => {
    const past = { notBefore: new Date(Date.now() - 9 * day), notAfter: new Date(Date.now() - day) };
    const expired = await attach({ ...past, isCurrent: false });
    const both = await attach({ ...past, isCurrent: false, revokedAt: new Date(Date.now() - 2 * day) });
    for (const id of [expired, both]) {
      expect(await revoke(id)).toMatchObject({ status: 409, json: { code: 'conflict' } });
    }
  });

  it('is 404 for a certificate of another order, of another account, and for what is no id', async () => {
    const id = await attach();
    await tenant.post('/api/v3/orders', { name: 'other', dns_names: ['example.com'], csr });
    const stranger = await api.tenant();
    await stranger.post('/api/v3/orders', { name: 'mine', dns_names: ['example.com'], csr });
    const responses: ReceivedResponse[] = [
      await tenant.post(`/api/v3/orders/other/certs/${id}/revoke`, {}),
      await stranger.post(`/api/v3/orders/mine/certs/${id}/revoke`, {}),
      await tenant.post(`/api/v3/orders/missing/certs/${id}/revoke`, {}),
      await tenant.post(`/api/v3/orders/mine/certs/99999999999999999999/revoke`, {}),
    ];
    for (const response of responses)
      expect(response).toMatchObject({ status: 404, json: { code: 'not_found' } });
    expect((await tenant.get(`/api/v3/orders/mine/certs/${id}`)).json.state).toBe('valid');
  });

  it('honours the Idempotency-Key, for this path alone', async () => {
    const id = await attach();
    const key = { 'idempotency-key': 'k1' };
    const first = await revoke(id, { reason: 4 }, key);
    const again = await revoke(id, { reason: 'superseded' }, key);
    expect(again).toMatchObject({ status: 422, json: { code: 'idempotency_key_reused' } });
    expect((await revoke(id, { reason: 'wrong' }, key)).status).toBe(422);
    const replayed = await revoke(id, { reason: 4 }, key);
    expect(replayed.text).toBe(first.text);
    expect(replayed.headers['idempotency-replayed']).toBe('true');
    expect((await tenant.post('/api/v3/orders/mine', { muted: true }, key)).status).toBe(200);
  });

  it('needs the permission of the other writes', async () => {
    const id = await attach();
    const withoutKey = await api.call('POST', `/api/v3/orders/mine/certs/${id}/revoke`);
    expect(withoutKey.status).toBe(401);
    const none = await api.tenant('Manage Monitored Domains');
    expect((await none.post(`/api/v3/orders/mine/certs/${id}/revoke`, {})).status).toBe(403);
  });

  it('expands leaf, chain and root', async () => {
    const id = await attach();
    const response = await tenant.post(`/api/v3/orders/mine/certs/${id}/revoke?expand=leaf`, {});
    expect(response.json.leaf).toBe(Buffer.from(`leaf ${id}`).toString('base64'));
    expect(response.json).not.toHaveProperty('chain');
  });
});

describe('a key that was reported as compromised', () => {
  it('cannot be used again in the account, and can in another', async () => {
    const id = await attach();
    await revoke(id, { reason: 1 });
    const order = { name: 'again', dns_names: ['example.com'], csr };
    expect((await tenant.post('/api/v3/orders', order)).json).toMatchObject({
      code: 'bad_request',
      sub_errors: [{ field: 'csr', code: 'key_compromised' }],
    });
    expect((await (await api.tenant()).post('/api/v3/orders', order)).status).toBe(201);
  });
});

describe('a revocation of the current certificate', () => {
  it('brings a new one under way, which the order shows', async () => {
    const id = await attach();
    await revoke(id);
    const { json } = await tenant.get('/api/v3/orders/mine?expand=issuance');
    expect(json.issuance).toMatchObject({ phase: 'awaiting_approval', last_error: null });
  });

  it('brings none when the reason is cessationOfOperation', async () => {
    const id = await attach();
    await revoke(id, { reason: 'cessationOfOperation' });
    const { json } = await tenant.get('/api/v3/orders/mine?expand=issuance');
    expect(json.issuance.phase).toBe('idle');
  });
});

describe('an order whose replacement failed', () => {
  it('returns the time of the next attempt', async () => {
    await attach();
    const renewAt = new Date(Math.floor(Date.now() / 1_000) * 1_000 + 600_000);
    await api.database.query(`UPDATE plan SET renew_at = $2 WHERE account_id = $1`, [
      tenant.accountId,
      renewAt,
    ]);
    await api.database.query(
      `UPDATE issuance SET state = 'failed', last_error = '{"code": "ca_rejected", "message": "no"}' WHERE account_id = $1`,
      [tenant.accountId],
    );
    const { json } = await tenant.get('/api/v3/orders/mine?expand=issuance');
    expect(json.issuance).toMatchObject({
      phase: 'failed',
      last_error: { code: 'ca_rejected' },
      next_attempt_at: `${renewAt.toISOString().slice(0, 19)}Z`,
    });
  });
});
