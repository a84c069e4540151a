import { createPrivateKey, createPublicKey } from 'node:crypto';
import { get, type IncomingMessage } from 'node:http';
import { ListTurns, maxListsInTurn } from '@certwright/service';
import { eventually } from '@certwright/testing';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { certificateRequest, keyPair, pubkeyHash } from '../testing/certificate-request';
import { attachCertificate, openIssuance } from '../testing/forged-instances';
import { RunningApi, type Tenant } from '../testing/running-api';
import { basic } from '../testing/tenant';
import { CertObjectsRepository } from './cert-objects.repository';
import { maxListsOfAccount } from './retrieve-cert-objects.use-case';

const keys = keyPair('p256');
const csrFor = (cn: string) => certificateRequest(keys, { CN: cn });

// A machine that is busy with other specs must not fail these.
jest.setTimeout(30_000);

let api: RunningApi;
let tenant: Tenant;

beforeAll(async () => {
  api = await RunningApi.start();
});
beforeEach(async () => {
  tenant = await api.tenant();
});
afterAll(() => api.stop());

const path = (cn: string) => `/api/v2/certs/${encodeURIComponent(cn)}`;
const create = async (cn: string, more: object = {}) => {
  const response = await tenant.post(path(cn), { csr: csrFor(cn), approval_method: 'dns', ...more });
  expect([response.status, response.json.message]).toEqual([200, undefined]);
  return response.json;
};
const shown = async (cn: string, query = '') => (await tenant.get(`${path(cn)}${query}`)).json;

/** Everything that a write could change. */
const rowsOf = async ({ accountId }: Tenant) =>
  await api.database.query(
    `SELECT plan.*, object.*, (SELECT count(*) FROM terms WHERE plan_id = plan.id) AS terms,
       (SELECT count(*) FROM issuance WHERE plan_id = plan.id) AS issuances
     FROM cert_object_v2 AS object JOIN plan ON plan.id = plan_id WHERE object.account_id = $1 ORDER BY cn`,
    [accountId],
  );

const termsOf = async ({ accountId }: Tenant) =>
  await api.database.query(
    `SELECT product, dns_names, key_type, approver_emails, approval_ways, owner_facts FROM plan JOIN terms ON terms.id = terms_id
     WHERE account_id = $1`,
    [accountId],
  );

const dnsOptions = (name: string) => [
  {
    name,
    type: 'CNAME',
    value: expect.stringMatching(/^[a-z2-7]{32}\.approve\.certwright\.test\.$/) as string,
  },
  { name, type: 'NS', value: expect.stringMatching(/^[a-z2-7]{32}\.approve\.certwright\.test\.$/) as string },
];

describe('POST /certs/{CN}', () => {
  it('creates an object from a form', async () => {
    const { status, headers, json } = await tenant.postForm(path('WWW.example.com'), {
      csr: csrFor('www.example.com'),
      approval_method: 'dns',
      'tags.shop': '1',
      product_name: 'ignored',
    });
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('application/json');
    expect(json).toEqual({
      exists: true,
      cn: 'www.example.com',
      wildcard: false,
      dn: { C: 'US', CN: 'www.example.com' },
      auto_renew: true,
      muted: false,
      approval_method: 'dns',
      dns_approval: { options: dnsOptions('_acme-challenge.example.com.') },
      type: 'dv',
      sans: null,
      default_san: {
        type: 'dns',
        value: 'example.com',
        approval_method: 'dns',
        dns_approval: { options: dnsOptions('_acme-challenge.example.com.') },
      },
      tags: ['shop'],
      pubkey_hash: pubkeyHash(keys),
      current_download: expect.stringMatching(/^http:\/\/127\.0\.0\.1:4310\/download\/[\w-]{27}$/),
      billed_through: null,
      subscription_ending: true,
    });
    expect(await shown('www.example.com')).toEqual(json);
  });

  it('creates an object from JSON, with SANs that are approved in their own ways', async () => {
    const sans = [
      { type: 'dns', value: '*.Example.org', approval_method: 'dns', approver_email: null },
      {
        type: 'dns',
        value: 'mail.example.org',
        approval_method: 'email',
        approver_email: 'Admin@example.org',
      },
      { type: 'dns', value: 'web.example.org', approval_method: 'http' },
    ];
    const json = await create('example.org', {
      approval_method: 'email',
      approver_email: 'webmaster@example.org',
      auto_renew: false,
      muted: true,
      sans,
      tags: ['b', 'a'],
    });
    expect(json).toMatchObject({
      auto_renew: false,
      muted: true,
      tags: ['b', 'a'],
      approval_method: 'email',
      approver_email: 'webmaster@example.org',
      sans: [
        {
          type: 'dns',
          value: '*.example.org',
          approval_method: 'dns',
          dns_approval: { options: dnsOptions('_acme-challenge.example.org.') },
        },
        {
          type: 'dns',
          value: 'mail.example.org',
          approval_method: 'email',
          approver_email: 'admin@example.org',
        },
        { type: 'dns', value: 'web.example.org', approval_method: 'http' },
      ],
    });
    for (const absent of ['dns_approval', 'http_approval', 'default_san', 'csr', 'current', 'pending']) {
      expect(json).not.toHaveProperty(absent);
    }
    expect(json.sans[0]).not.toHaveProperty('approver_email');
    const [{ secret } = { secret: '' }] = await api.database.query<{ secret: string }>(
      `SELECT secret FROM web_rule WHERE account_id = $1`,
      [tenant.accountId],
    );
    expect(json.sans[2].http_approval).toEqual({
      path_prefixes: ['/.well-known/acme-challenge/', '/.well-known/pki-validation/'],
      redirect_to: `http://127.0.0.1:4330/${secret}`,
    });
  });

  it('stores terms and labels for every name, and opens nothing', async () => {
    await create('www.example.com');
    expect(await termsOf(tenant)).toEqual([
      {
        product: 'paid_ca',
        dns_names: ['www.example.com', 'example.com'],
        key_type: 'ecdsa',
        approver_emails: {},
        approval_ways: {
          'www.example.com': { method: 'dns', approverEmail: null, recordAt: 'example.com' },
          'example.com': { method: 'dns', approverEmail: null, recordAt: null },
        },
        owner_facts: { sans: null },
      },
    ]);
    const labels = await api.database.query(
      `SELECT dns_name FROM delegation WHERE account_id = $1 ORDER BY 1`,
      [tenant.accountId],
    );
    expect(labels.map(({ dns_name }) => dns_name)).toEqual(['example.com', 'www.example.com']);
    expect(await rowsOf(tenant)).toMatchObject([
      { owner: 'certs-v2', revision: 1, issuances: '0', paused: false },
    ]);
  });

  it('changes only what is supplied; new terms for new details alone', async () => {
    const before = await create('example.com', { tags: ['x'] });
    expect((await tenant.postForm(path('example.com'), { muted: '1', 'tags.y': '1' })).json).toEqual({
      ...before,
      muted: true,
      tags: ['x', 'y'],
    });
    expect(await rowsOf(tenant)).toMatchObject([{ revision: 2, terms: '1' }]);
    const after = (await tenant.postForm(path('example.com'), { sans: '[]' })).json;
    expect(after).toMatchObject({ muted: true, sans: [] });
    expect(after).not.toHaveProperty('default_san');
    expect(await rowsOf(tenant)).toMatchObject([{ revision: 3, terms: '2', issuances: '0' }]);
    expect(await termsOf(tenant)).toMatchObject([{ dns_names: ['example.com'], owner_facts: { sans: [] } }]);
  });

  it('writes nothing when nothing changes, and takes back what it has shown', async () => {
    const sans = [{ type: 'dns', value: 'a.example.com', approval_method: 'dns' }];
    await create('example.com', { sans, tags: ['x'] });
    const before = await rowsOf(tenant);
    const read = await shown('example.com', '?expand=csr&expand=current&expand=pending');
    expect((await tenant.post(path('example.com'), read)).json).toEqual(await shown('example.com'));
    await tenant.postForm(path('example.com'), '');
    await tenant.post(path('example.com'));
    expect(await rowsOf(tenant)).toEqual(before);
  });

  it('leaves an open instance and the current one as they are', async () => {
    await create('example.com');
    const current = await attachCertificate(api, tenant, 'example.com');
    const pending = await openIssuance(api, tenant, 'example.com');
    await create('example.com', {
      csr: certificateRequest(keyPair('p384'), { CN: 'example.com' }),
      sans: [],
    });
    expect(await shown('example.com', '?expand=current&expand=pending')).toMatchObject({
      current: { id: current.instanceId, state: 'active', pubkey_hash: pubkeyHash(keys) },
      pending: { id: pending.instanceId, state: 'pending', sans: null },
    });
  });

  it('takes another key', async () => {
    const other = keyPair('rsa2048');
    await create('example.com');
    const csr = certificateRequest(other, { CN: 'example.com' });
    const json = (await tenant.postForm(`${path('example.com')}?expand=csr`, { csr })).json;
    expect([json.csr, json.pubkey_hash]).toEqual([csr, pubkeyHash(other)]);
    expect(await termsOf(tenant)).toMatchObject([{ key_type: 'rsa' }]);
  });

  it('changes nothing when it is refused', async () => {
    await create('example.com');
    const before = await rowsOf(tenant);
    const refused = [
      { muted: true, type: 'ev' },
      { auto_renew: false, approval_method: 'email' },
      { tags: ['x'], sans: [{ value: 'co.uk', approval_method: 'dns' }] },
      { muted: true, csr: csrFor('example.org') },
    ];
    for (const body of refused) {
      expect((await tenant.post(path('example.com'), body)).status).toBe(400);
      expect(
        (await tenant.post(path('new.example.com'), { csr: csrFor('new.example.com'), ...body })).status,
      ).toBe(400);
    }
    expect(await rowsOf(tenant)).toEqual(before);
  });

  it('refuses a key that is known to be compromised', async () => {
    const bad = keyPair('p256');
    await api.database.query(`INSERT INTO blocked_key (spki_sha256, reason) VALUES ($1, 'spec')`, [
      Buffer.from(pubkeyHash(bad), 'hex'),
    ]);
    const { json } = await tenant.post(path('example.com'), {
      csr: certificateRequest(bad, { CN: 'example.com' }),
      approval_method: 'dns',
    });
    expect(json).toMatchObject({ reason: 'bad_csr', param: 'csr' });
  });

  it('rejects a key whose private half is published, and names the source', async () => {
    // The private key of RFC 6979, appendix A.2.5.
    const pkcs8 =
      'MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgya+p2EW6dRZrXCFXZ7HWk05Qw9s26JsSe4piKxIPZyGh' +
      'RANCAARg/tS6JVqdMclh63TGNW1owEm4kjth+mzmaWIuYPKftnkD/hAIuLyZpBrp6VYovGTy8bIMLX6fUXejwpTURiKZ';
    const privateKey = createPrivateKey({ key: Buffer.from(pkcs8, 'base64'), format: 'der', type: 'pkcs8' });
    const known = { privateKey, publicKey: createPublicKey(privateKey) };
    const { json } = await tenant.post(path('example.com'), {
      csr: certificateRequest(known, { CN: 'example.com' }),
      approval_method: 'dns',
    });
    const message = expect.stringContaining('publicly known (RFC 6979)') as string;
    expect(json).toMatchObject({ reason: 'bad_csr', param: 'csr', message });
  });

  it('refuses a type that is not offered', async () => {
    const body = { csr: csrFor('example.com'), approval_method: 'dns', type: 'ev' };
    expect((await tenant.post(path('example.com'), body)).json).toMatchObject({
      reason: 'bad_type',
      param: 'type',
    });
  });
});

describe('the same request more than once', () => {
  it('makes one object, however many create it at once', async () => {
    const body = { csr: csrFor('example.com'), approval_method: 'dns' };
    const gate = new Client({ connectionString: api.database.url });
    await gate.connect();
    // All requests find that there is no object yet; the lock keeps them from creating one before all have looked.
    await gate.query('BEGIN; LOCK TABLE plan IN SHARE ROW EXCLUSIVE MODE');
    const saving = Array.from({ length: 4 }, (_, at) =>
      tenant.post(path('example.com'), { ...body, [`tags.t${at}`]: 1 }),
    );
    await eventually(async () => {
      const waiting = await gate.query(
        `SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'plan'::regclass`,
      );
      expect(waiting.rows).toHaveLength(4);
    });
    await gate.query('COMMIT');
    await gate.end();
    const responses = await Promise.all(saving);
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
    const rows = await rowsOf(tenant);
    expect(rows).toHaveLength(1);
    expect([...rows[0]?.['tags']].sort()).toEqual(responses.map((_, at) => `t${at}`));
    const plans = await api.database.query(`SELECT 1 FROM plan WHERE account_id = $1`, [tenant.accountId]);
    expect(plans).toHaveLength(1);
  });

  it('gets the same response with an Idempotency-Key, and another body is refused', async () => {
    const body = { csr: csrFor('example.com'), approval_method: 'dns' };
    const key = { 'idempotency-key': 'k-1' };
    const first = await tenant.post(path('example.com'), body, key);
    await tenant.post(path('example.com'), { muted: true });
    const again = await tenant.post(path('example.com'), body, key);
    expect([again.status, again.text]).toEqual([200, first.text]);
    expect(again.headers['idempotency-replayed']).toBe('true');
    const other = await tenant.post(path('example.com'), { ...body, muted: false }, key);
    expect([other.status, other.json.reason]).toEqual([422, 'idempotency_key_reused']);
  });
});

describe('GET /certs/{CN}', () => {
  it('shows what does not exist, with what a CSR is to have', async () => {
    await api.database.query(
      `UPDATE account SET country = 'DE', state = 'Hesse', locality = 'Kassel', organization = 'Ä GmbH' WHERE id = $1`,
      [tenant.accountId],
    );
    const expected = {
      exists: false,
      cn: '*.example.com',
      wildcard: true,
      dn: { C: 'DE', ST: 'Hesse', L: 'Kassel', O: 'Ä GmbH', CN: '*.example.com' },
      auto_renew: true,
      muted: false,
      approval_method: null,
      type: null,
      sans: null,
      tags: [],
      pubkey_hash: null,
      current_download: null,
      billed_through: null,
      subscription_ending: true,
    };
    expect(await shown('*.example.com')).toEqual(expected);
    expect(await shown('*.EXAMPLE.com', '?expand=current.crt&expand=pending&expand=csr')).toEqual({
      ...expected,
      current: null,
      pending: null,
    });
    expect((await tenant.get('/api/v2/certs/%2A.example.com')).json).toEqual(expected);
  });

  it('expands csr, current and pending, which are null when there is none', async () => {
    await create('example.com');
    const json = await shown('example.com', '?expand=csr&expand=current.crt&expand=pending');
    const wholePem = /^-----BEGIN CERTIFICATE REQUEST-----\n[\s\S]+\n-----END CERTIFICATE REQUEST-----\n$/;
    expect(json).toMatchObject({ csr: expect.stringMatching(wholePem), current: null, pending: null });
    expect(await shown('example.com')).not.toHaveProperty('current');
  });

  it('returns the end of the paid term', async () => {
    await create('example.com');
    await api.database.query(
      `UPDATE plan SET paid_through = '2027-11-20T12:00:00.5Z', paid_product = 'paid_ca' WHERE account_id = $1`,
      [tenant.accountId],
    );
    expect((await shown('example.com')).billed_through).toBe(Date.parse('2027-11-20T12:00:00Z') / 1_000);
  });

  it('shows the same records at every read', async () => {
    const { dns_approval } = await create('example.com');
    await create('example.com', { approval_method: 'http' });
    await create('example.com');
    expect((await shown('example.com')).dns_approval).toEqual(dns_approval);
  });
});

describe('GET /certs', () => {
  it('lists by common name, and by tag', async () => {
    for (const [cn, tags] of [
      ['b.example.com', ['x']],
      ['*.example.com', []],
      ['a.example.com', ['y', 'x']],
    ] as const) {
      await create(cn, { tags });
    }
    const list = async (query = '') =>
      (await tenant.get(`/api/v2/certs${query}`)).json.data.map(({ cn }: { cn: string }) => cn);
    expect(await list()).toEqual(['*.example.com', 'a.example.com', 'b.example.com']);
    expect(await list('?tag=x')).toEqual(['a.example.com', 'b.example.com']);
    expect(await list('?tag=none')).toEqual([]);
  });

  it('shows each object as it is shown alone', async () => {
    await create('a.example.com');
    await create('b.example.com', { approval_method: 'http', sans: [] });
    await attachCertificate(api, tenant, 'b.example.com');
    const query = '?expand=current&expand=pending';
    const { data } = (await tenant.get(`/api/v2/certs${query}`)).json;
    expect(data).toEqual([await shown('a.example.com', query), await shown('b.example.com', query)]);
    expect(data[1].current).toMatchObject({ state: 'active' });
  });

  it('continues where a page ended', async () => {
    for (const name of ['a', 'b', 'c']) await create(`${name}.example.com`, { tags: ['x'] });
    const first = await tenant.get('/api/v2/certs?limit=2&tag=x&expand=csr');
    expect(first.json.data).toHaveLength(2);
    const [, next = ''] =
      /^<http:\/\/127\.0\.0\.1:4312(.*)>; rel="next"$/.exec(String(first.headers['link'])) ?? [];
    expect(next).toBe('/api/v2/certs?after=b.example.com&limit=2&tag=x&expand=csr');
    const second = await tenant.get(next);
    expect(second.json.data).toMatchObject([{ cn: 'c.example.com', csr: expect.any(String) }]);
    expect(second.headers).not.toHaveProperty('link');
  });

  /** Behind the API's back, in one statement: so many objects besides the one that is there, with so many SANs each. */
  const multiply = async (count: number, sans: number, of = api, { accountId } = tenant) =>
    await of.database.query(
      `WITH made AS (
         INSERT INTO plan (account_id, terms_id, revision, auto_renew, muted, paused, download_token, owner)
         SELECT account_id, terms_id, 1, true, false, false, 'spec ' || account_id || each, owner
         FROM plan CROSS JOIN generate_series(1, $2::int) AS each WHERE account_id = $1 RETURNING id, account_id)
       INSERT INTO cert_object_v2 (plan_id, account_id, cn, type, approval_method, sans, csr, spki_sha256, key_type)
       SELECT made.id, made.account_id, 'b' || made.id || '.example.com', type, approval_method,
         (SELECT jsonb_agg(jsonb_build_object(
            'value', 'n' || at || '.example.com', 'approvalMethod', 'dns', 'approverEmail', null))
          FROM generate_series(1, $3::int) AS at), csr, spki_sha256, key_type
       FROM made JOIN cert_object_v2 USING (account_id)`,
      [accountId, count, sans],
    );

  it('returns everything that the account has where no limit is sent, and no Link', async () => {
    await create('a.example.com', { tags: ['x'] });
    await multiply(1_205, 1);
    const list = await tenant.get('/api/v2/certs?expand=current&expand=pending');
    expect([list.status, list.headers['content-type'], list.headers['link']]).toEqual([
      200,
      'application/json',
      undefined,
    ]);
    const names: string[] = list.json.data.map(({ cn }: { cn: string }) => cn);
    expect(names).toHaveLength(1_206);
    expect(names).toEqual([...new Set(names)].sort());
    expect(list.json.data.at(-1)).toEqual(await shown(names.at(-1) ?? '', '?expand=current&expand=pending'));
    const rest = await tenant.get(`/api/v2/certs?after=${names[700]}`);
    expect(rest.json.data.map(({ cn }: { cn: string }) => cn)).toEqual(names.slice(701));
    expect((await tenant.get('/api/v2/certs?limit=1000')).json.data).toHaveLength(1_000);
    expect((await tenant.get('/api/v2/certs?tag=x')).json.data).toHaveLength(1);
  });

  /** Whether the list of all objects arrives to its end. */
  const isListComplete = async (of = api, { apiKey } = tenant) => {
    const { hostname, port } = new URL(of.url);
    const headers = { authorization: basic(apiKey, '') };
    return await new Promise((resolve, reject) => {
      get({ hostname, port, path: '/api/v2/certs', headers }, (response) => {
        response.on('error', () => undefined);
        response.on('close', () => resolve(response.complete)).resume();
      }).on('error', reject);
    });
  };

  it('breaks the connection off when a part cannot be made, so that no shorter list is taken for the whole', async () => {
    await create('a.example.com');
    await multiply(300, 1);
    await api.database.query(
      `UPDATE cert_object_v2 SET sans = '[1]' WHERE account_id = $1
         AND cn = (SELECT max(cn) FROM cert_object_v2 WHERE account_id = $1)`,
      [tenant.accountId],
    );
    expect(await isListComplete()).toBe(false);
    expect((await tenant.get('/api/v2/certs?limit=10')).json.data).toHaveLength(10);
  });

  it('waits for the database as long as a request may for each part of a list', async () => {
    const slow = await RunningApi.start({ DATABASE_TIME: '2s' });
    try {
      const account = await slow.tenant();
      await account.post(path('a.example.com'), { csr: csrFor('a.example.com'), approval_method: 'dns' });
      await multiply(1_000, 1, slow, account);
      const objects = slow.app.get(CertObjectsRepository);
      const page = objects.page.bind(objects);
      jest.spyOn(objects, 'page').mockImplementation(async (...requested) => {
        await slow.app.get(DataSource).query(`SELECT pg_sleep(0.7)`);
        return await page(...requested);
      });
      expect(await isListComplete(slow, account)).toBe(true);
    } finally {
      await slow.stop();
    }
  });

  it('sends only some lists of an account at the same time, so that it keeps no process busy, and pages besides', async () => {
    await create('a.example.com');
    await multiply(1_500, 99);
    const { hostname, port } = new URL(api.url);
    const headers = { authorization: basic(tenant.apiKey, '') };
    /** Begins to read a list, and stops. */
    const begun = async () =>
      await new Promise<IncomingMessage>((resolve, reject) => {
        get({ hostname, port, path: '/api/v2/certs', headers }, (list) => resolve(list.pause())).on(
          'error',
          reject,
        );
      });
    const lists = await Promise.all(Array.from({ length: maxListsOfAccount }, begun));
    expect(lists.map(({ statusCode }) => statusCode)).toEqual(Array(maxListsOfAccount).fill(200));
    const refused = await tenant.get('/api/v2/certs');
    expect(refused).toMatchObject({ status: 429, json: { reason: 'rate_limited' } });
    expect(refused.json.retry_after).toBe(Number(refused.headers['retry-after']));
    expect((await tenant.get('/api/v2/certs?limit=10')).status).toBe(200);
    for (const list of lists) list.destroy();
    await eventually(async () => expect(await isListComplete()).toBe(true), { withinMs: 20_000 });
  }, 60_000);

  it('builds one page of an account at a time, and serves others in between', async () => {
    await create('a.example.com');
    const other = await api.tenant();
    let [running, maxRunning] = [0, 0];
    const page = jest.spyOn(api.app.get(CertObjectsRepository), 'page').mockImplementation(async () => {
      maxRunning = Math.max(maxRunning, (running += 1));
      expect((await other.get(path('a.example.com'))).status).toBe(200);
      running -= 1;
      return [];
    });
    const lists = Array.from({ length: 12 }, async () => await tenant.get('/api/v2/certs?limit=1000'));
    expect((await Promise.all(lists)).map(({ status }) => status)).toEqual(Array(12).fill(200));
    expect([page.mock.calls.length, maxRunning]).toEqual([12, 1]);
    page.mockRestore();
  });

  it('refuses pages only when very many of an account wait', async () => {
    const turns = new ListTurns();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const lists = Array.from(
      { length: maxListsInTurn },
      async () => await turns.run('1', async () => await released),
    );
    await expect(turns.run('1', async () => await released)).rejects.toMatchObject({
      code: 'rate_limited',
    });
    expect(await turns.run('2', async () => await Promise.resolve('built'))).toBe('built');
    release();
    await Promise.all(lists);
    expect(await turns.run('1', async () => await Promise.resolve('built'))).toBe('built');
  });

  it('ends a page before it has too many names, and leaves nothing out where no limit is sent', async () => {
    await create('a.example.com');
    await multiply(101, 99);
    expect((await tenant.get('/api/v2/certs')).json.data).toHaveLength(102);
    const first = await tenant.get('/api/v2/certs?limit=1000');
    expect(first.json.data).toHaveLength(100);
    const [, next = ''] = /^<http:\/\/127\.0\.0\.1:4312(.*)>;/.exec(String(first.headers['link'])) ?? [];
    const second = await tenant.get(next);
    expect([second.json.data.length, second.headers['link']]).toEqual([2, undefined]);
  });

  it('reads little more than it shows, however many objects a caller requests', async () => {
    await create('a.example.com');
    await multiply(600, 99);
    const page = jest.spyOn(api.app.get(CertObjectsRepository), 'page');
    expect((await tenant.get('/api/v2/certs?limit=1000')).json.data).toHaveLength(100);
    const read = (await Promise.all(page.mock.results.map(({ value }) => value as object[]))).flat();
    page.mockRestore();
    expect(read.length).toBeLessThanOrEqual(251);
    for (const object of read) expect(object).toMatchObject({ csr: { der: Buffer.alloc(0) } });
  });

  it.each(['csr', 'current', 'pending'])('shows at most 100 objects with %s on a page', async (member) => {
    await create('a.example.com');
    await multiply(120, 1);
    const all = (await tenant.get(`/api/v2/certs?expand=${member}`)).json.data;
    expect(all).toHaveLength(121);
    const first = await tenant.get(`/api/v2/certs?limit=1000&expand=${member}`);
    expect(first.json.data).toEqual(all.slice(0, 100));
    const [, next = ''] = /^<http:\/\/127\.0\.0\.1:4312(.*)>;/.exec(String(first.headers['link'])) ?? [];
    expect((await tenant.get(next)).json.data).toEqual(all.slice(100));
  });

  it('reads no further parts for HEAD, which would go on after its response', async () => {
    await create('a.example.com');
    await multiply(1_000, 1);
    const page = jest.spyOn(api.app.get(CertObjectsRepository), 'page');
    const { status, headers } = await tenant.call('HEAD', '/api/v2/certs');
    expect([status, headers['content-type']]).toEqual([200, 'application/json']);
    await shown('a.example.com');
    expect(page).toHaveBeenCalledTimes(1);
    page.mockRestore();
  });

  it.each(['limit=0', 'limit=1001', 'limit=x', 'limit=1&limit=2', 'after=a&after=b', 'tag=a&tag=b'])(
    'refuses %s',
    async (query) => {
      const { status, json } = await tenant.get(`/api/v2/certs?${query}`);
      expect([status, json.reason, json.param]).toEqual([400, 'bad_param', query.split('=')[0]]);
    },
  );
});

describe('the number of objects per account', () => {
  it('is limited: further ones are refused, those that exist can be changed, other accounts are not affected', async () => {
    const limited = await RunningApi.start({ MAX_CERT_OBJECTS: '2' });
    try {
      const [account, other] = [await limited.tenant(), await limited.tenant()];
      const create = async (of: Tenant, cn: string) =>
        await of.post(`/api/v2/certs/${cn}`, {
          csr: certificateRequest(keyPair('p256'), { CN: cn }),
          approval_method: 'dns',
        });
      for (const cn of ['a.example.com', 'b.example.com'])
        expect((await create(account, cn)).status).toBe(200);
      const refused = await create(account, 'c.example.com');
      expect(refused).toMatchObject({ status: 409, json: { reason: 'too_many_certs' } });
      expect((await account.get('/api/v2/certs')).json.data).toHaveLength(2);
      expect((await create(account, 'a.example.com')).status).toBe(200);
      expect((await create(other, 'c.example.com')).status).toBe(200);
    } finally {
      await limited.stop();
    }
  });
});
