import { RunningApi, type Tenant } from '../testing/running-api';
import {
  activatePending,
  chargesOf,
  createObject,
  csrFor,
  issuancesOf,
  keys,
  otherKeys,
  pathOf,
} from '../instances/testing/bought';
import { pubkeyHash } from '../testing/certificate-request';

jest.setTimeout(60_000);

let api: RunningApi;
let tenant: Tenant;
beforeAll(async () => {
  api = await RunningApi.start();
});
beforeEach(async () => {
  tenant = await api.tenant();
});
afterAll(() => api.stop());

const cn = 'www.example.com';
const buy = (fields: Record<string, string> = {}, headers = {}) =>
  tenant.postForm(`${pathOf(cn)}/buy`, fields, headers);
const reissue = () => tenant.post(`${pathOf(cn)}/reissue`);

describe('buy', () => {
  it('returns the pending instance of the object’s details', async () => {
    await createObject(tenant, cn);
    const { status, headers, json } = await buy({
      invoice_note: 'Shop',
      email_invoice_to: 'pay@example.com',
      days: '365',
    });
    expect([status, headers['content-type']]).toEqual([200, 'application/json']);
    expect(json).toEqual({
      id: expect.any(Number) as number,
      state: 'pending',
      expiring: false,
      source: 'service',
      type: 'dv',
      sans: null,
      pubkey_hash: pubkeyHash(keys),
      sha1_fingerprint: expect.stringMatching(/^[0-9a-f]{40}$/) as string,
      sha256_fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      expiration: null,
      invoice_id: null,
      approval_method: 'dns',
      approval: [
        { name: cn, method: 'dns', status: 'pending', problem: null },
        { name: 'example.com', method: 'dns', status: 'pending', problem: null },
      ],
      last_error: null,
    });
    expect(Number.isSafeInteger(json.id) && json.id > 0).toBe(true);
    expect((await tenant.get(`${pathOf(cn)}/instances/${json.id}`)).json).toEqual(json);
  });

  it('takes a body of JSON, and none at all', async () => {
    await createObject(tenant, cn);
    expect((await tenant.post(`${pathOf(cn)}/buy`, { invoice_note: null, days: 365 })).status).toBe(200);
    await createObject(tenant, 'example.net');
    expect((await tenant.post(`${pathOf('example.net')}/buy`)).status).toBe(200);
    await createObject(tenant, 'example.org');
    const headers = { 'content-type': 'application/json' };
    expect((await tenant.call('POST', `${pathOf('example.org')}/buy`, { headers })).status).toBe(200);
  });

  it('is rejected while the same is pending, and names the instance', async () => {
    await createObject(tenant, cn);
    const { id } = (await buy()).json;
    expect((await buy()).json).toEqual({
      reason: 'already_pending',
      message: `The instance ${id} with the same details is pending already.`,
    });
    expect(await issuancesOf(api, tenant)).toEqual([[id, 'open']]);
    expect(await chargesOf(api, tenant)).toEqual([{ kind: 'term', cents: 0, instance: String(id) }]);
  });

  it('takes the place of what is pending when the details have changed; that one is canceled', async () => {
    await createObject(tenant, cn);
    const first = (await buy()).json;
    await tenant.post(pathOf(cn), { csr: csrFor(cn, otherKeys) });
    const second = (await buy()).json;
    expect(second).toMatchObject({ state: 'pending', pubkey_hash: pubkeyHash(otherKeys) });
    const { json } = await tenant.get(`${pathOf(cn)}/instances/${first.id}?expand=crt&expand=csr`);
    expect(json).toMatchObject({ id: first.id, state: 'canceled', pubkey_hash: pubkeyHash(keys) });
    expect(json.csr).toMatch(/^-----BEGIN CERTIFICATE REQUEST-----\n/);
    expect(json).not.toHaveProperty('crt');
    expect(await chargesOf(api, tenant)).toEqual([{ kind: 'term', cents: 0, instance: String(second.id) }]);
  });

  it('may be done again when an instance is active: that one stays until the new one is there', async () => {
    await createObject(tenant, cn);
    const first = (await buy()).json;
    await activatePending(api, tenant, cn);
    const second = (await buy()).json;
    expect(second.state).toBe('pending');
    await activatePending(api, tenant, cn);
    const { data } = (await tenant.get(`${pathOf(cn)}/instances`)).json;
    expect(data.map((each: { id: number; state: string }) => [each.id, each.state])).toEqual([
      [second.id, 'active'],
      [first.id, 'active'],
    ]);
  });

  it.each([
    [{ invoice_note: 'x'.repeat(1_001) }, 'invoice_note'],
    [{ email_invoice_to: 'invoices' }, 'email_invoice_to'],
    [{ days: 'many' }, 'days'],
    [{ force_new_subscription: '2' }, 'force_new_subscription'],
  ])('%p is refused, and nothing is changed', async (fields, param) => {
    await createObject(tenant, cn);
    expect((await buy(fields)).json).toMatchObject({ reason: 'bad_param', param });
    expect(await issuancesOf(api, tenant)).toEqual([]);
  });

  it('needs an object', async () => {
    for (const action of ['buy', 'reissue', 'redo_approval', 'revoke']) {
      const { status, json } = await tenant.post(`${pathOf('other.example.com')}/${action}`);
      expect([status, json.reason]).toEqual([404, 'no_such_cert']);
      const invalid = await tenant.post(`${pathOf('localhost')}/${action}`);
      expect([invalid.status, invalid.json.reason, invalid.json.param]).toEqual([400, 'bad_cn', 'cn']);
    }
  });

  it('is refused for a key that is blocked, globally or by the account', async () => {
    const account = await api.tenant();
    const block = async (accountId: string) =>
      await api.database.query(
        `INSERT INTO blocked_key (spki_sha256, account_id, reason) VALUES (decode($1, 'hex'), $2, 'spec')`,
        [pubkeyHash(keys), accountId],
      );
    const unblock = async () => await api.database.query(`DELETE FROM blocked_key`);
    await createObject(tenant, cn);
    await block(account.accountId);
    expect((await buy()).status).toBe(200);
    await tenant.post(pathOf(cn), { muted: true, sans: [] });
    for (const accountId of [tenant.accountId, '0']) {
      await unblock();
      await block(accountId);
      const { status, json } = await buy();
      expect([status, json.reason, json.param]).toEqual([400, 'bad_csr', 'csr']);
    }
    await unblock();
    expect((await issuancesOf(api, tenant)).length).toBe(1);
  });

  it('is rejected for a key that a newer release lists as published', async () => {
    await createObject(tenant, cn);
    const ofRfc6979 = '5a7a78cca4a0f420d9bc62bb669c3c2759e39f723d3ae10dcbe0f0815a07ecd4';
    // Terms are immutable, and a CSR with such a key is refused.
    await api.database.query(
      `BEGIN; SET LOCAL session_replication_role = replica;
       UPDATE terms SET spki_sha256 = '\\x${ofRfc6979}'; COMMIT`,
    );
    const { status, json } = await buy();
    expect([status, json.reason, json.param]).toEqual([400, 'bad_csr', 'csr']);
  });

  it('is one purchase however often it is repeated with its key', async () => {
    await createObject(tenant, cn);
    const key = { 'idempotency-key': 'buy-1' };
    const first = await buy({ invoice_note: 'a' }, key);
    const again = await buy({ invoice_note: 'a' }, key);
    expect([again.status, again.text, again.headers['idempotency-replayed']]).toEqual([
      200,
      first.text,
      'true',
    ]);
    expect((await buy({ invoice_note: 'b' }, key)).json.reason).toBe('idempotency_key_reused');
    expect(await issuancesOf(api, tenant)).toEqual([[first.json.id, 'open']]);
  });

  it('is one purchase when it is pressed ten times at once', async () => {
    await createObject(tenant, cn);
    const responses = await Promise.all(Array.from({ length: 10 }, () => buy()));
    const reasons = responses.map(({ status, json }) => (status === 200 ? 'opened' : json.reason));
    expect(reasons.sort()).toEqual([...Array(9).fill('already_pending'), 'opened']);
    expect(await chargesOf(api, tenant)).toHaveLength(1);
    expect(await issuancesOf(api, tenant)).toHaveLength(1);
  });

  it('needs the permission', async () => {
    const reader = await api.tenant('Search Certificates');
    for (const action of ['buy', 'reissue', 'redo_approval', 'revoke', 'instances']) {
      const { status, json } = await reader.post(`${pathOf(cn)}/${action}`);
      expect([status, json.reason]).toEqual([403, 'unauthorized']);
    }
  });
});

describe('expand', () => {
  it('applies to the response of every action, and to that one only', async () => {
    const csr = csrFor(cn);
    await createObject(tenant, cn, { csr });
    const query = '?expand=csr&expand=crt&expand=nothing';
    const act = async (action: string) => (await tenant.post(`${pathOf(cn)}/${action}`)).json;
    const expanded = {
      csr,
      crt: expect.stringMatching(/^-----BEGIN CERTIFICATE-----\n[^]*-----END CERTIFICATE-----\n$/) as string,
    };
    expect(await act(`buy${query}`)).toMatchObject(expanded);
    expect(await act(`redo_approval${query}`)).toMatchObject(expanded);
    expect(await act('redo_approval')).not.toHaveProperty('csr');
    await activatePending(api, tenant, cn);
    expect(await act(`reissue${query}`)).toMatchObject(expanded);
    expect(Object.keys(await act(`revoke${query}`))).toEqual([
      'status',
      'num_revoked',
      'num_active',
      'num_imported',
    ]);
  });
});

describe('reissue', () => {
  it('needs an active instance', async () => {
    await createObject(tenant, cn);
    const refused = async () => {
      const { status, json } = await reissue();
      expect([status, json.reason]).toEqual([409, 'inactive_cert']);
    };
    await refused();
    await buy();
    await refused();
    await activatePending(api, tenant, cn, { from: -9, to: -1 });
    await refused();
  });

  it('makes an instance of the object’s present details within the term that was bought', async () => {
    await createObject(tenant, cn);
    const first = (await buy()).json;
    await activatePending(api, tenant, cn);
    await tenant.post(pathOf(cn), { csr: csrFor(cn, otherKeys) });
    const { status, json } = await reissue();
    expect([status, json.state, json.pubkey_hash]).toEqual([200, 'pending', pubkeyHash(otherKeys)]);
    expect(await chargesOf(api, tenant)).toEqual([{ kind: 'term', cents: 0, instance: String(first.id) }]);
    const [row] = await api.database.query(
      `SELECT issuance.expires_by, plan.paid_through FROM issuance JOIN plan ON plan.id = plan_id
       WHERE issuance.public_id = $1`,
      [json.id],
    );
    expect(row?.['expires_by']).toEqual(row?.['paid_through']);
    expect((await reissue()).json.reason).toBe('already_pending');
    // Time is not bought by what is pending: a purchase takes its place.
    const bought = (await buy()).json;
    expect(await issuancesOf(api, tenant)).toEqual([
      [first.id, 'issued'],
      [json.id, 'superseded'],
      [bought.id, 'open'],
    ]);
    expect((await reissue()).json.reason).toBe('already_pending');
  });

  it('may be done again and again: one certificate each time', async () => {
    await createObject(tenant, cn);
    await buy();
    await activatePending(api, tenant, cn);
    for (const _ of [1, 2]) {
      expect((await reissue()).status).toBe(200);
      await activatePending(api, tenant, cn);
    }
    expect((await issuancesOf(api, tenant)).map(([, state]) => state)).toEqual([
      'issued',
      'issued',
      'issued',
    ]);
  });
});

describe('a product that is not sold at present', () => {
  it('is neither bought nor reissued', async () => {
    await createObject(tenant, cn);
    await buy();
    await activatePending(api, tenant, cn);
    const own = await RunningApi.start(async () => ({ DATABASE_URL: api.database.url }));
    try {
      await api.database.query(`UPDATE product SET available = false WHERE name = 'paid_ca'`);
      for (const action of ['buy', 'reissue']) {
        const { status, text } = await own.call('POST', `${pathOf(cn)}/${action}`, {
          headers: { authorization: `Basic ${Buffer.from(`${tenant.apiKey}:`).toString('base64')}` },
        });
        expect([status, JSON.parse(text).reason]).toEqual([409, 'product_unavailable']);
      }
    } finally {
      await api.database.query(`UPDATE product SET available = true WHERE name = 'paid_ca'`);
      await own.stop();
    }
  });
});
