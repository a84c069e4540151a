import { eventually } from '@certwright/testing';
import { Client } from 'pg';
import { certificateRequest, keyPair } from '../testing/certificate-request';
import { attachCertificate, RunningApi, type Tenant } from '../testing/running-api';

const keys = keyPair('p256');
const csrFor = (...dnsNames: string[]) => certificateRequest(keys, { dnsNames });

const path = '/api/v3/orders/mine';
let api: RunningApi;
let tenant: Tenant;

beforeAll(async () => {
  api = await RunningApi.start();
});
beforeEach(async () => {
  tenant = await api.tenant();
  const body = { name: 'mine', dns_names: ['example.com', 'www.example.com'] };
  await tenant.post('/api/v3/orders', { ...body, csr: csrFor(...body.dns_names) });
});
afterAll(() => api.stop());

describe('POST /api/v3/orders/{ORDER_NAME}', () => {
  it('keeps what is left out, raises the revision and opens an issuance after the settling window', async () => {
    const response = await tenant.post(`${path}?expand=issuance`, { muted: true });

    expect(response.status).toBe(200);
    expect(response.headers.etag).toBe('"2"');
    expect(response.json).toMatchObject({
      name: 'mine',
      muted: true,
      auto_renew: true,
      revision: 2,
      key_type: 'ecdsa',
    });
    expect(await issuances()).toMatchObject([
      { state: 'superseded', revision: 1 },
      { state: 'open', revision: 2 },
    ]);
  });

  it('makes one certificate of several modifications within the settling window', async () => {
    await tenant.post(path, { auto_renew: false });
    const [, first] = await issuances();
    await tenant.post(path, { auto_renew: true });
    await tenant.post(path, { auto_renew: false });
    const all = await issuances();

    expect(all.filter(({ state }) => state === 'open')).toHaveLength(1);
    expect(all.at(-1)).toMatchObject({ revision: 4, due_at: first?.due_at });
  });

  it('has no effect when nothing changes, whatever was sent back', async () => {
    const { json: order } = await tenant.get(`${path}?expand=csr&expand=current_cert&expand=issuance`);
    const response = await tenant.post(path, {
      ...order,
      dns_names: ['WWW.example.com', 'example.com', 'example.com.'],
    });

    expect(response.status).toBe(200);
    expect(response.headers.etag).toBe('"1"');
    expect(response.json.dns_names).toEqual(['example.com', 'www.example.com']);
    expect(await issuances()).toMatchObject([{ state: 'open', revision: 1 }]);
  });

  it('has a pending approval checked when nothing changes', async () => {
    await api.database.query(
      `UPDATE issuance SET due_at = now() + interval '1 hour', opened_at = now() - interval '1 minute' WHERE account_id = $1`,
      [tenant.accountId],
    );
    await tenant.post(path, {});
    const [{ due } = { due: false }] = await api.database.query<{ due: boolean }>(
      `SELECT due_at <= now() AS due FROM issuance WHERE account_id = $1`,
      [tenant.accountId],
    );
    expect(due).toBe(true);
  });

  it('resets csr to null when a name is removed and the product is free_ca, and ends what is under way', async () => {
    const response = await tenant.post(`${path}?expand=csr&expand=issuance`, { dns_names: ['example.com'] });

    expect(response.json).toMatchObject({ csr: null, pubkey_sha256: null, revision: 2 });
    expect(response.json.issuance).toMatchObject({ phase: 'awaiting_csr', next_attempt_at: null });
    expect(await issuances()).toMatchObject([{ state: 'superseded' }]);
    const [plan] = await api.database.query(`SELECT terms_id FROM plan WHERE account_id = $1`, [
      tenant.accountId,
    ]);
    expect(plan).toEqual({ terms_id: null });
  });

  it('needs no approval record for a name that is removed while csr is null', async () => {
    await api.database.query(
      `WITH made AS (
         INSERT INTO dns_integration (id, account_id, provider, description, handle, state, zones_due_at)
         VALUES ($1::bigint, $1, 'desec', '', 'handle', 'ok', now()) RETURNING id, account_id),
       record AS (
         INSERT INTO approval_record (account_id, integration_id, dns_name, zone_name, target, state)
         SELECT account_id, id, name, 'example.com', 'a.test', 'standing'
         FROM made, unnest(ARRAY['example.com', 'www.example.com']) AS name RETURNING id, account_id)
       INSERT INTO approval_record_use (record_id, plan_id)
       SELECT record.id, plan_id FROM record JOIN order_v3 USING (account_id)`,
      [tenant.accountId],
    );
    const used = async (): Promise<string[]> => {
      const rows = await api.database.query<{ dns_name: string }>(
        `SELECT dns_name FROM approval_record JOIN approval_record_use ON record_id = id WHERE account_id = $1`,
        [tenant.accountId],
      );
      return rows.map(({ dns_name }) => dns_name);
    };
    await tenant.post(path, { dns_names: ['example.com', 'new.example.com'] });
    expect(await used()).toEqual(['example.com']);
    await tenant.post(path, { dns_names: ['new.example.com'] });
    expect(await used()).toEqual([]);
  });

  it('issues again from the new CSR that follows a reset', async () => {
    await tenant.post(path, { dns_names: ['new.example.com'] });
    const response = await tenant.post(`${path}?expand=issuance`, { csr: csrFor('new.example.com') });

    expect(response.json).toMatchObject({ revision: 3, pubkey_sha256: expect.any(String) });
    expect(response.json.issuance.names[0].record.options).toHaveLength(2);
    expect((await issuances()).at(-1)).toMatchObject({ state: 'open', revision: 3 });
  });

  it('resets csr to null when the cluster, the key type or the product changes', async () => {
    await api.database.query(`INSERT INTO cluster (account_id, name) VALUES ($1, 'web')`, [tenant.accountId]);
    expect((await tenant.post(`${path}?expand=csr`, { cluster: 'web' })).json.csr).toBeNull();
    expect(
      (await tenant.post(path, { cluster: null, csr: csrFor('example.com', 'www.example.com') })).status,
    ).toBe(200);
    expect((await tenant.post(`${path}?expand=csr`, { key_type: 'rsa' })).json.csr).toBeNull();
    const paid = { product: 'paid_ca', key_type: 'ecdsa', csr: certificateRequest(keys, {}) };
    expect((await tenant.post(`${path}?expand=csr`, paid)).json.csr).toBe(paid.csr);
    expect((await tenant.post(`${path}?expand=csr`, { product: 'free_ca' })).json.csr).toBeNull();
  });

  it('issues nothing while the order is paused, and one certificate when the pause ends', async () => {
    await tenant.post(path, { paused: true });
    await tenant.post(path, { csr: csrFor('www.example.com', 'example.com') });
    expect((await issuances()).map(({ state }) => state)).toEqual(['superseded']);

    await tenant.post(path, { paused: false });
    expect((await issuances()).at(-1)).toMatchObject({ state: 'open', revision: 4 });
  });

  it('selects the current certificate again when names or key change', async () => {
    const { json: order } = await tenant.get(path);
    const older = {
      pubkeySha256: 'ab'.repeat(32),
      isCurrent: false,
      notAfter: new Date(Date.now() + 200 * 86_400_000),
    };
    const long = await attachCertificate(api, tenant, 'mine', { dnsNames: ['example.com'], ...older });
    await attachCertificate(api, tenant, 'mine', {
      dnsNames: order.dns_names,
      pubkeySha256: order.pubkey_sha256,
    });
    const response = await tenant.post(`${path}?expand=current_cert`, { dns_names: ['example.com'] });
    expect(response.json.current_cert.id).toBe(long);
  });

  it('reports all errors at once, and changes nothing', async () => {
    const response = await tenant.post(path, {
      name: 'other',
      cluster: 'nowhere',
      muted: 1,
      dns_names: ['com'],
    });

    expect(response.status).toBe(400);
    const faults = response.json.sub_errors.map(
      ({ field, code }: Record<string, string>) => `${field} ${code}`,
    );
    expect(faults.sort()).toEqual([
      'cluster unknown_cluster',
      'dns_names not_public_domain',
      'muted invalid_value',
      'name immutable_field',
    ]);
    expect((await tenant.get(path)).headers.etag).toBe('"1"');
  });

  it('returns 404 for a name that no order has', async () => {
    expect((await tenant.post('/api/v3/orders/yours', { muted: true })).status).toBe(404);
  });
});

describe('If-Match', () => {
  it('returns 412 revision_mismatch and has no effect', async () => {
    const refused = await tenant.post(path, { muted: true }, { 'if-match': '"2", W/"1"' });
    expect(refused.status).toBe(412);
    expect(refused.json.code).toBe('revision_mismatch');
    expect((await tenant.delete(path, { headers: { 'if-match': '"2"' } })).status).toBe(412);
    expect((await tenant.get(path)).json).toMatchObject({ revision: 1, muted: false });
  });

  it('lets exactly one of many concurrent modifications of one revision pass', async () => {
    const attempts = Array.from({ length: 8 }, (_, index) =>
      tenant.post(
        path,
        { approver_emails: {}, muted: true, auto_renew: index % 2 === 0 },
        { 'if-match': '"1"' },
      ),
    );
    const statuses = (await Promise.all(attempts)).map(({ status }) => status).sort();
    expect(statuses).toEqual([200, ...Array<number>(7).fill(412)]);
    expect((await tenant.get(path)).json.revision).toBe(2);
  });

  it('is refused when it is malformed', async () => {
    const response = await tenant.post(path, { muted: true }, { 'if-match': '1' });
    expect(response).toMatchObject({ status: 400, json: { code: 'invalid_value', field: 'If-Match' } });
  });
});

it('loses none of several modifications that wait for each other', async () => {
  await api.database.query(`INSERT INTO cluster (account_id, name) VALUES ($1, 'web')`, [tenant.accountId]);
  const holder = new Client({ connectionString: api.database.url });
  await holder.connect();
  await holder.query(`BEGIN; SELECT 1 FROM plan WHERE account_id = ${tenant.accountId} FOR UPDATE`);
  // As many as one account may have in progress.
  const changes = [
    { muted: true, cluster: 'web' },
    { product: 'paid_ca' },
    { key_type: 'rsa' },
    { auto_renew: false },
  ];
  const responses = changes.map((change) => tenant.post(path, change));
  await eventually(async () => {
    const waiting = await api.database.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    expect(waiting).toHaveLength(changes.length);
  });
  await holder.query('COMMIT');
  await holder.end();

  expect((await Promise.all(responses)).map(({ json }) => json.revision).sort()).toEqual([2, 3, 4, 5]);
  const { json } = await tenant.get(path);
  expect(json).toMatchObject({ ...Object.assign({}, ...changes), revision: 5 });
});

it('does not deadlock with a creation of the same name that adds the same DNS name', async () => {
  const { accountId } = tenant;
  // What a creation writes, in its order.
  const creation = new Client({ connectionString: api.database.url });
  await creation.connect();
  // Shorter than the time after which PostgreSQL ends a deadlock.
  await creation.query(`BEGIN; SET LOCAL lock_timeout = '300ms'`);
  const { rows } = await creation.query<{ id: string }>(
    `INSERT INTO plan (account_id, revision, auto_renew, muted, paused, download_token, owner)
     VALUES ($1, 1, true, false, false, $2, 'orders-v3') RETURNING id`,
    [accountId, 'A'.repeat(27)],
  );
  await creation.query(
    `INSERT INTO delegation (account_id, dns_name, label) VALUES ($1, 'new.example.com', $2)`,
    [accountId, 'a'.repeat(32)],
  );
  const names = ['example.com', 'new.example.com'];
  const modified = tenant.post(path, { dns_names: names, csr: csrFor(...names) });
  await eventually(async () => {
    const waiting = await api.database.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    expect(waiting).toHaveLength(1);
  });
  const insert = creation.query(
    `INSERT INTO order_v3 (plan_id, account_id, name, dns_names, approver_emails, product, key_type)
     VALUES ($1, $2, 'mine', $3, '{}', 'free_ca', 'ecdsa')`,
    [rows[0]?.id, accountId, names],
  );
  await expect(insert).rejects.toMatchObject({ code: '23505', constraint: 'order_v3_name' });
  await creation.query('ROLLBACK');
  await creation.end();
  expect(await modified).toMatchObject({ status: 200, json: { dns_names: names, revision: 2 } });
});

async function issuances() {
  return await api.database.query<{ state: string; revision: number; due_at: Date }>(
    `SELECT state, revision, due_at FROM issuance WHERE account_id = $1 ORDER BY id`,
    [tenant.accountId],
  );
}
