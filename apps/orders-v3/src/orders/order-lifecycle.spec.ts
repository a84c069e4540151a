import { createPrivateKey, createPublicKey } from 'node:crypto';
import { certificateRequest, keyPair } from '../testing/certificate-request';
import { RunningApi, type Tenant } from '../testing/running-api';

const keys = keyPair('p256');
const csrFor = (...dnsNames: string[]) => certificateRequest(keys, { dnsNames });

let api: RunningApi;
let tenant: Tenant;

beforeAll(async () => {
  api = await RunningApi.start({
    PUBLIC_URL: 'https://api.example.com',
    APPROVAL_ZONE: 'approve.example.net',
    APPROVAL_URL: 'http://approve.example.net',
  });
});
beforeEach(async () => {
  tenant = await api.tenant();
});
afterAll(() => api.stop());

describe('POST /api/v3/orders', () => {
  it('returns 201 with the location, the entity tag and the created order', async () => {
    const created = await tenant.post('/api/v3/orders', {
      dns_names: ['WWW.Example.com', '*.example.com', 'www.example.com'],
      csr: csrFor('www.example.com', '*.example.com'),
    });

    expect(created.status).toBe(201);
    expect(created.headers).toMatchObject({
      location: '/api/v3/orders/www.example.com',
      etag: '"1"',
      'content-type': 'application/json; charset=utf-8',
    });
    expect(created.json).toEqual({
      name: 'www.example.com',
      dns_names: ['www.example.com', '*.example.com'],
      approver_emails: {},
      cluster: null,
      auto_renew: true,
      muted: false,
      paused: false,
      product: 'free_ca',
      key_type: 'ecdsa',
      revision: 1,
      current_cert_download: expect.stringMatching(
        /^https:\/\/api\.example\.com\/download\/[A-Za-z0-9_-]{27}$/,
      ),
      pubkey_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it('opens an issuance that is due at once, with its wake-up in the outbox', async () => {
    await tenant.post('/api/v3/orders', { dns_names: ['example.com'], csr: csrFor('example.com') });

    const issuances = await openIssuances();
    expect(issuances).toMatchObject([{ state: 'open', revision: 1, due: true }]);
    const wakeUps = await api.database.query(`SELECT payload FROM outbox WHERE payload->>'issuanceId' = $1`, [
      issuances[0]?.id,
    ]);
    expect(wakeUps).toHaveLength(1);
  });

  it('opens no issuance for a paused order and for a managed order, which has no CSR yet', async () => {
    await api.database.query(`INSERT INTO cluster (account_id, name) VALUES ($1, 'web')`, [tenant.accountId]);
    const paused = { dns_names: ['a.example.com'], paused: true, csr: csrFor('a.example.com') };
    const managed = { dns_names: ['b.example.com'], cluster: 'web' };

    expect((await tenant.post('/api/v3/orders?expand=issuance', paused)).json.issuance.phase).toBe('paused');
    const created = await tenant.post('/api/v3/orders?expand=issuance&expand=csr', managed);
    expect(created.json).toMatchObject({ csr: null, pubkey_sha256: null, key_type: 'rsa', cluster: 'web' });
    expect(created.json.issuance.phase).toBe('awaiting_csr');
    expect(await openIssuances()).toEqual([]);
  });

  it('expands the requested members, and shows the record of each name', async () => {
    const csr = csrFor('example.com', '*.example.com');
    const path = '/api/v3/orders?expand=csr&expand=current_cert.leaf&expand=issuance&expand=&expand=nothing';
    const { json } = await tenant.post(path, { dns_names: ['example.com', '*.example.com'], csr });

    expect(json.csr).toBe(csr);
    expect(json.current_cert).toBeNull();
    const [apex, wildcard] = json.issuance.names;
    expect(json.issuance).toMatchObject({ phase: 'awaiting_approval', last_error: null });
    expect(json.issuance.next_attempt_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    const value = expect.stringMatching(/^[a-z2-7]{32}\.approve\.example\.net\.$/);
    expect(apex).toEqual({
      dns_name: 'example.com',
      approval_method: null,
      status: 'pending',
      problem: null,
      checked_at: null,
      next_check_at: json.issuance.next_attempt_at,
      record: {
        options: [
          { name: '_acme-challenge.example.com.', type: 'CNAME', value },
          { name: '_acme-challenge.example.com.', type: 'NS', value },
        ],
      },
      rule: {
        path_prefixes: ['/.well-known/acme-challenge/', '/.well-known/pki-validation/'],
        redirect_to: expect.stringMatching(/^http:\/\/approve\.example\.net\/[a-z2-7]{32}$/),
      },
      integration: null,
      email: null,
    });
    expect(wildcard).toMatchObject({ record: apex.record, rule: null });
  });

  it('reports all errors at once, and stores nothing', async () => {
    const response = await tenant.post('/api/v3/orders', {
      name: '..',
      dns_names: ['localhost', 'ex ample.com', 7],
      product: 'gold_ca',
      key_type: 'dsa',
      muted: 'true',
      paused: null,
      cluster: 'nowhere',
      csr: '!',
      colour: 'green',
    });

    expect(response.status).toBe(400);
    expect(response.json.code).toBe('bad_request');
    const faults = response.json.sub_errors.map(
      ({ field, code }: Record<string, string>) => `${field} ${code}`,
    );
    expect(faults.sort()).toEqual([
      'cluster unknown_cluster',
      'colour invalid_value',
      'csr malformed_csr',
      'dns_names invalid_dns_name',
      'dns_names invalid_value',
      'dns_names not_public_domain',
      'key_type invalid_value',
      'muted invalid_value',
      'name invalid_value',
      'paused invalid_value',
      'product invalid_value',
    ]);
    expect((await tenant.get('/api/v3/orders')).json).toEqual([]);
  });

  it('refuses a CSR whose key is known to be compromised', async () => {
    const csr = csrFor('example.com');
    const first = await tenant.post('/api/v3/orders', { dns_names: ['example.com'], csr });
    await api.database.query(
      `INSERT INTO blocked_key (spki_sha256, reason) VALUES (decode($1, 'hex'), 'spec')`,
      [first.json.pubkey_sha256],
    );
    const second = await tenant.post('/api/v3/orders', { name: 'again', dns_names: ['example.com'], csr });
    await api.database.query(`DELETE FROM blocked_key`);

    expect(second.status).toBe(400);
    expect(second.json.sub_errors).toMatchObject([{ field: 'csr', code: 'key_compromised' }]);
  });

  it('rejects a CSR whose private key is published, and names the source', async () => {
    // The private key of RFC 6979, appendix A.2.5.
    const pkcs8 =
      'MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgya+p2EW6dRZrXCFXZ7HWk05Qw9s26JsSe4piKxIPZyGh' +
      'RANCAARg/tS6JVqdMclh63TGNW1owEm4kjth+mzmaWIuYPKftnkD/hAIuLyZpBrp6VYovGTy8bIMLX6fUXejwpTURiKZ';
    const privateKey = createPrivateKey({ key: Buffer.from(pkcs8, 'base64'), format: 'der', type: 'pkcs8' });
    const known = { privateKey, publicKey: createPublicKey(privateKey) };
    const csr = certificateRequest(known, { dnsNames: ['example.com'] });
    const { status, json } = await tenant.post('/api/v3/orders', { dns_names: ['example.com'], csr });
    expect(status).toBe(400);
    expect(json.sub_errors).toMatchObject([
      {
        field: 'csr',
        code: 'key_compromised',
        message: expect.stringContaining('publicly known (RFC 6979)') as string,
      },
    ]);
  });

  it('returns 409 already_exists for a second order of the same name', async () => {
    const body = { dns_names: ['example.com'], csr: csrFor('example.com') };
    await tenant.post('/api/v3/orders', body);
    const second = await tenant.post('/api/v3/orders', body);

    expect(second.status).toBe(409);
    expect(second.json).toMatchObject({ code: 'already_exists', field: 'name' });
  });

  it('creates exactly one of many concurrent orders of one name', async () => {
    const body = { dns_names: ['example.com'], csr: csrFor('example.com') };
    const responses = await Promise.all(Array.from({ length: 8 }, () => tenant.post('/api/v3/orders', body)));

    expect(responses.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409, 409, 409]);
    expect(await openIssuances()).toHaveLength(1);
  });
});

describe('GET /api/v3/orders/{ORDER_NAME}', () => {
  it.each(['*.example.com', 'a/b', 'größe 100%', '?#&=+', '__proto__', '😀'.repeat(255)])(
    'finds %s',
    async (name) => {
      await tenant.post('/api/v3/orders', { name, dns_names: ['example.com'], csr: csrFor('example.com') });
      const found = await tenant.get(`/api/v3/orders/${encodeURIComponent(name)}`);

      expect(found.status).toBe(200);
      expect(found.headers.etag).toBe('"1"');
      expect(found.json.name).toBe(name);
      expect(found.json).not.toHaveProperty('csr');
      expect(found.json).not.toHaveProperty('current_cert');
      expect(found.json).not.toHaveProperty('issuance');
    },
  );

  it('returns 404 for a name that no order has', async () => {
    const response = await tenant.get('/api/v3/orders/example.com');
    expect(response.status).toBe(404);
    expect(response.json).toEqual({ code: 'not_found', message: 'The account has no order of this name.' });
  });
});

describe('GET /api/v3/orders', () => {
  it('pages by name, and follows the next relation to the end', async () => {
    const names = ['a', 'b & c', 'd/e', 'ö', '*.x'];
    for (const name of names) {
      await tenant.post('/api/v3/orders', { name, dns_names: ['example.com'], csr: csrFor('example.com') });
    }
    const seen: string[] = [];
    let path: string | undefined = '/api/v3/orders?limit=2&expand=csr&expand=issuance';
    while (path !== undefined) {
      const page = await tenant.get(path);
      expect(page.status).toBe(200);
      expect(page.json.length).toBeLessThanOrEqual(2);
      for (const order of page.json) expect(order).toHaveProperty('csr');
      seen.push(...page.json.map(({ name }: { name: string }) => name));
      path = /^<([^>]+)>; rel="next"$/.exec(String(page.headers.link ?? ''))?.[1];
    }
    expect(seen).toEqual(['*.x', 'a', 'b & c', 'd/e', 'ö']);
  });

  it('returns 100 orders per page unless fewer are requested', async () => {
    await api.database.query(
      `WITH made AS (
         INSERT INTO plan (account_id, revision, auto_renew, muted, paused, download_token)
         SELECT $1, 1, true, false, false, gen_random_uuid() FROM generate_series(1, 101) RETURNING id, account_id)
       INSERT INTO order_v3 (plan_id, account_id, name, dns_names, approver_emails, product, key_type)
       SELECT id, account_id, 'order ' || id, '{example.com}', '{}', 'free_ca', 'rsa' FROM made`,
      [tenant.accountId],
    );
    const first = await tenant.get('/api/v3/orders');
    expect(first.json).toHaveLength(100);
    const after = encodeURIComponent(first.json[99].name).replaceAll('%20', '+');
    expect(first.headers.link).toBe(`</api/v3/orders?after=${after}>; rel="next"`);
    expect((await tenant.get(`/api/v3/orders?after=${after}`)).json).toHaveLength(1);
  });

  it('returns an empty array for an account without orders, and no Link', async () => {
    const page = await tenant.get('/api/v3/orders');
    expect(page).toMatchObject({ status: 200, json: [] });
    expect(page.headers).not.toHaveProperty('link');
  });

  it.each([
    ['limit=0', 'limit', 'out_of_range'],
    ['limit=101', 'limit', 'out_of_range'],
    ['limit=ten', 'limit', 'invalid_value'],
    ['limit=1&limit=2', 'limit', 'invalid_value'],
    ['after=a&after=b', 'after', 'invalid_value'],
    ['after=%0A', 'after', 'invalid_value'],
  ])('refuses ?%s', async (query, field, code) => {
    const response = await tenant.get(`/api/v3/orders?${query}`);
    expect(response.status).toBe(400);
    expect(response.json).toMatchObject({ code: 'bad_query', sub_errors: [{ field, code }] });
  });
});

describe('DELETE /api/v3/orders/{ORDER_NAME}', () => {
  it('returns 204 with an empty body; the order, its download and its issuance are gone, and the name is free', async () => {
    const body = { dns_names: ['example.com'], csr: csrFor('example.com') };
    const { json } = await tenant.post('/api/v3/orders', body);
    const download = new URL(json.current_cert_download).pathname;
    expect((await api.call('GET', download)).status).toBe(202);

    const removed = await tenant.delete('/api/v3/orders/example.com');
    expect(removed).toMatchObject({ status: 204, text: '' });
    expect((await tenant.get('/api/v3/orders/example.com')).status).toBe(404);
    expect((await tenant.delete('/api/v3/orders/example.com')).status).toBe(404);
    expect((await api.call('GET', download)).status).toBe(404);
    expect(await openIssuances()).toEqual([]);
    expect((await tenant.post('/api/v3/orders', body)).status).toBe(201);
  });
});

async function openIssuances() {
  return await api.database.query<{ id: string; state: string; revision: number; due: boolean }>(
    `SELECT id, state, revision, due_at <= now() AS due FROM issuance WHERE account_id = $1 AND state = 'open'`,
    [tenant.accountId],
  );
}
