import { randomBytes } from 'node:crypto';
import { eventually, type ReceivedResponse } from '@certwright/testing';
import { addFinding, type FindingColumns } from '../testing/findings';
import { addIssuance } from '../testing/indexed-issuance';
import { permission, RunningApi, type Tenant } from '../testing/running-api';

const certificates = '/api/v3/monitoring/certificates';

let api: RunningApi;
let tenant: Tenant;

beforeAll(async () => {
  api = await RunningApi.startWithIndex();
});
beforeEach(async () => {
  tenant = await api.tenant(permission);
});
afterAll(() => api.stop());

const result = ({ status, json }: ReceivedResponse) => [status, json];
const add = async (special: FindingColumns = {}, names?: readonly string[]) =>
  await addFinding(api.database, tenant.accountId, names, special);
const digests = ({ json }: ReceivedResponse) =>
  json.map(({ tbs_sha256 }: { tbs_sha256: string }) => tbs_sha256);
const rowOf = async (digest: string) =>
  (
    await api.database.query(
      `SELECT state, reason, alert_due_at, mail_due, classify_at, acknowledged_at IS NOT NULL AS acknowledged,
         acknowledged_by FROM monitoring_finding WHERE tbs_sha256 = decode($1, 'hex')`,
      [digest],
    )
  )[0];
const history = async () =>
  await api.database.query(
    `SELECT object, action, before, after FROM monitoring_change WHERE account_id = $1 ORDER BY id`,
    [tenant.accountId],
  );

describe('the list', () => {
  it('has pages of the newest first, with the filters in the link', async () => {
    const at = (minute: number) => ({ found_at: new Date(Date.UTC(2026, 10, 20, 12, minute, 0, 5)) });
    const known = await add({ ...at(1), state: 'known', reason: 'order_key', alerted_at: null, alert: null });
    const first = await add(at(2));
    const second = await add({ ...at(2), monitored_domains: ['www.example.com'] });
    const third = await add({ ...at(3), monitored_domains: ['.example.com', 'www.example.com'] });
    const sameTime = [first, second].sort().reverse();
    expect(digests(await tenant.get(certificates))).toEqual([third, ...sameTime, known]);

    const page = await tenant.get(`${certificates}?limit=2&state=unknown`);
    expect(digests(page)).toEqual([third, sameTime[0]]);
    const next = /<(.+)>; rel="next"/.exec(String(page.headers.link))?.[1] ?? '';
    expect(next).toMatch(
      /^\/api\/v3\/monitoring\/certificates\?after=\d+-[0-9a-f]{64}&limit=2&state=unknown$/,
    );
    const last = await tenant.get(next);
    expect([digests(last), last.headers.link]).toEqual([[sameTime[1]], undefined]);

    const filtered = async (query: string) => digests(await tenant.get(`${certificates}?${query}`));
    expect(await filtered('state=known')).toEqual([known]);
    expect(await filtered('monitored_domain=WWW.example.com.')).toEqual([third, second]);
    expect(await filtered('monitored_domain=.example.com&state=unknown')).toEqual([third, first]);
    const paged = await tenant.get(`${certificates}?monitored_domain=.example.com&limit=1`);
    expect(paged.headers.link).toContain('&monitored_domain=.example.com>');
    expect(await filtered('monitored_domain=example.net')).toEqual([]);
  });

  it('has fewer on a page when certificates have very many names, and all with their issuance', async () => {
    const aName = () => `${randomBytes(16).toString('hex')}.example.com`;
    const names = 2_500;
    const digestsStored: string[] = [];
    for (let minute = 0; minute < 20; minute += 1) {
      const all = Array.from({ length: names - 1 }, aName);
      const { tbsSha256: tbs_sha256, position } = await addIssuance(api.database, aName(), ...all);
      const found_at = new Date(Date.UTC(2026, 10, 20, 12, minute));
      digestsStored.unshift(await add({ tbs_sha256, position, found_at }));
    }
    const test = await add({ source: 'test', position: null, found_at: new Date(0) });
    const listed: string[] = [];
    for (let next = certificates; next !== '';) {
      // On a busy machine the index may not respond in time; pages then have no issuances for a while.
      const page = await eventually(
        async () => {
          const each = await tenant.get(next);
          for (const { tbs_sha256, issuance } of each.json)
            expect(issuance?.dns_names?.length).toBe(tbs_sha256 === test ? undefined : names);
          return each;
        },
        { everyMs: 500 },
      );
      const { length } = page.json as unknown[];
      expect(length).toBeGreaterThan(0);
      expect(length).toBeLessThan(15);
      listed.push(...digests(page));
      next = /<(.+)>; rel="next"/.exec(String(page.headers.link))?.[1] ?? '';
    }
    expect(listed).toEqual([...digestsStored, test]);
  });

  it('follows changes and deletions of findings', async () => {
    const [one, two] = [await add(), await add()];
    await tenant.post(`${certificates}/${one}`, { acknowledged: true });
    const unknown = `${certificates}?monitored_domain=.example.com&state=unknown`;
    expect(digests(await tenant.get(unknown))).toEqual([two]);
    expect(digests(await tenant.get(unknown.replace('unknown', 'acknowledged')))).toEqual([one]);
    await api.database.query(`DELETE FROM monitoring_finding WHERE account_id = $1`, [tenant.accountId]);
    const rows = `SELECT 1 FROM monitoring_finding_domain WHERE account_id = $1`;
    expect(await api.database.query(rows, [tenant.accountId])).toEqual([]);
  });

  it('has tests, except those of a monitored domain', async () => {
    const test = await add({ source: 'test', position: null });
    expect(digests(await tenant.get(certificates))).toEqual([test]);
    expect(digests(await tenant.get(`${certificates}?monitored_domain=.example.com`))).toEqual([]);
  });

  it.each([
    'state=bad',
    'state=known&state=unknown',
    'monitored_domain=*.example.com',
    'monitored_domain=a&monitored_domain=b',
    'after=5',
    `after=99999999999999999-${'a'.repeat(64)}`,
    `after=1-${'A'.repeat(64)}`,
    'limit=101',
  ])('refuses ?%s', async (query) => {
    expect(await tenant.get(`${certificates}?${query}`)).toMatchObject({
      status: 400,
      json: { code: 'bad_query' },
    });
  });
});

it('shows the order or the certificate object that a certificate belongs to', async () => {
  const planId = async (statement: string) => {
    const [plan] = await api.database.query(
      `INSERT INTO plan (account_id, revision, auto_renew, muted, paused, download_token)
       VALUES ($1, 1, true, false, false, md5(random()::text)) RETURNING id`,
      [tenant.accountId],
    );
    await api.database.query(statement, [plan?.['id'], tenant.accountId]);
    return plan?.['id'];
  };
  const known = { state: 'known', reason: 'order_key', alert: null, alerted_at: null } as const;
  const ordered = await add({
    ...known,
    plan_id: await planId(
      `INSERT INTO order_v3 (plan_id, account_id, name, dns_names, approver_emails, product, key_type)
       VALUES ($1, $2, 'web', '{example.com}', '{}', 'free_ca', 'ecdsa')`,
    ),
  });
  expect((await tenant.get(`${certificates}/${ordered}`)).json).toEqual({
    tbs_sha256: ordered,
    id: '7',
    state: 'known',
    reason: 'order_key',
    order: 'web',
    cn: null,
    endpoints: [
      { dns_name: 'www.example.com', monitored_domain: '.example.com', wildcard: false, odd_name: false },
    ],
    endpoint_count: 1,
    change: null,
    found_at: expect.any(String),
    source: 'stream',
    alerted_at: null,
    acknowledged_at: null,
    note: '',
    issuance: null,
  });
  expect((await tenant.get(`${certificates}/${ordered.toUpperCase()}`)).status).toBe(200);
  for (const digest of ['5', 'ab'.repeat(32), '%20'])
    expect(result(await tenant.get(`${certificates}/${digest}`))).toEqual([
      404,
      { code: 'not_found', message: 'No certificate with this digest concerns the account.' },
    ]);
});

it('shows the issuance, in a list without its certificate', async () => {
  const { tbsSha256, position, certDer } = await addIssuance(api.database, 'www.example.com');
  const digest = await add({ tbs_sha256: tbsSha256, position });
  const other = await add({ position });
  const expanded = {
    ...{ id: position, tbs_sha256: digest, revoked: null, dns_names: ['www.example.com'] },
    ...{
      issuer: {
        friendly_name: 'Example CA',
        website: 'https://ca.example.net',
        caa_domains: ['ca.example.net'],
      },
      problem_reporting: null,
    },
  };
  const listed = (await tenant.get(certificates)).json;
  expect(listed).toMatchObject([
    { tbs_sha256: other, issuance: null },
    { tbs_sha256: digest, id: position, issuance: expanded },
  ]);
  expect(listed[1].issuance.cert_der).toBeUndefined();
  const { issuance } = (await tenant.get(`${certificates}/${digest}`)).json;
  expect(issuance).toEqual({ ...listed[1].issuance, cert_sha256: expect.any(String), cert_der: certDer });
  const { json } = await tenant.post(`${certificates}/${digest}`, { acknowledged: true });
  expect(json.issuance).toEqual(issuance);
});

describe('POST', () => {
  const due = { alert_due_at: new Date(), mail_due: true, alerted_at: null, alert: null };
  const post = async (digest: string, body: unknown) => await tenant.post(`${certificates}/${digest}`, body);

  it('acknowledges once, cancels what was not sent, and withdraws without an alert', async () => {
    const digest = await add(due);
    await api.database.query(
      `WITH made AS (
         INSERT INTO webhook_endpoint (id, account_id, url, secret_sealed, description, enabled)
         VALUES (1, $1, 'https://example.com/', '{}', '', true) RETURNING id)
       INSERT INTO webhook_delivery (id, account_id, endpoint_id, version, subject, event, body, state, due_at)
       SELECT 'msg_' || subject, $1, id, 0, subject, 'monitoring.unknown_certificate', '{}', 'pending', now()
       FROM made, unnest(ARRAY['finding:' || $2, 'finding:other']) AS subject`,
      [tenant.accountId, digest],
    );
    const done = await post(digest, { acknowledged: true, note: 'marketing' });
    expect([done.status, done.json]).toMatchObject([200, { state: 'acknowledged', note: 'marketing' }]);
    expect(done.json.acknowledged_at).toEqual(expect.any(String));
    expect(await rowOf(digest)).toEqual({
      ...{ state: 'acknowledged', reason: 'unknown', alert_due_at: null, mail_due: false, classify_at: null },
      ...{ acknowledged: true, acknowledged_by: expect.any(String) },
    });
    expect(
      await api.database.query(
        `SELECT subject, state FROM webhook_delivery WHERE account_id = $1 ORDER BY state`,
        [tenant.accountId],
      ),
    ).toEqual([
      { subject: `finding:${digest}`, state: 'canceled' },
      { subject: 'finding:other', state: 'pending' },
    ]);
    expect(result(await post(digest, { acknowledged: true }))).toEqual([200, done.json]);
    const noted = await post(digest, { note: 'sales' });
    expect(noted.json).toEqual({ ...done.json, note: 'sales' });
    const withdrawn = await post(digest, { acknowledged: false });
    expect(withdrawn.json).toMatchObject({ state: 'unknown', acknowledged_at: null, note: 'sales' });
    expect(await rowOf(digest)).toMatchObject({ alert_due_at: null, acknowledged_by: null });
    const values = (state: string, note: string) => ({ state, reason: 'unknown', note });
    expect(await history()).toEqual(
      [
        [values('unknown', ''), values('acknowledged', 'marketing')],
        [values('acknowledged', 'marketing'), values('acknowledged', 'sales')],
        [values('acknowledged', 'sales'), values('unknown', 'sales')],
      ].map(([before, after]) => ({ object: 'certificate', action: 'changed', before, after })),
    );
  });

  it('acknowledges a certificate that is classified later', async () => {
    const digest = await add({ state: 'waiting', reason: 'waiting', classify_at: new Date() });
    expect((await post(digest, { acknowledged: true })).json.state).toBe('acknowledged');
    expect(await rowOf(digest)).toMatchObject({ classify_at: null });
  });

  it('authorizes the key for all monitored names, which makes the certificate known', async () => {
    const spki_sha256 = Buffer.alloc(32, 7);
    const digest = await add({ ...due, spki_sha256 }, ['b.example.com', 'a.example.com']);
    const done = await post(digest, { authorize_key: true, acknowledged: true });
    expect([done.status, done.json]).toMatchObject([200, { state: 'known', reason: 'known_key' }]);
    expect(await rowOf(digest)).toMatchObject({ alert_due_at: null, mail_due: false, acknowledged: false });
    expect((await tenant.get('/api/v3/monitoring/known_keys')).json).toMatchObject([
      { pubkey_sha256: spki_sha256.toString('hex'), dns_names: ['a.example.com', 'b.example.com'] },
    ]);
    expect((await history()).map(({ object, action }) => `${object} ${action}`)).toEqual([
      'known_key created',
      'certificate changed',
    ]);
    expect(result(await post(digest, { authorize_key: true }))).toEqual([200, done.json]);
    expect(await history()).toHaveLength(2);
  });

  it.each<[string, FindingColumns, object]>([
    ['a known one', { state: 'known', reason: 'certificate' }, { acknowledged: true }],
    ['the key of a test', { source: 'test' }, { authorize_key: true }],
    ['the key of an unreadable entry', { spki_sha256: null }, { authorize_key: true }],
    ['the key of too many names', { endpoint_count: 101 }, { authorize_key: true }],
    [
      'the key of a text that is not a name',
      {
        endpoints:
          '[{"dns_name":"a.example.com","monitored_domain":".example.com","wildcard":false,"odd_name":true}]',
      },
      { authorize_key: true },
    ],
  ])('refuses to acknowledge or authorize %s', async (_what, special, body) => {
    const digest = await add(special);
    expect(await post(digest, body)).toMatchObject({ status: 409, json: { code: 'conflict' } });
    expect(await history()).toEqual([]);
  });

  it.each<[unknown, string]>([
    [{ acknowledged: 1 }, 'acknowledged invalid_value'],
    [{ note: 'a\nb' }, 'note invalid_value'],
    [{ authorize_key: null }, 'authorize_key invalid_value'],
    [{ state: 'known' }, 'state invalid_value'],
  ])('refuses %j', async (body, fault) => {
    const { status, json } = await post(await add(), body);
    expect([
      status,
      json.sub_errors.map(({ field, code }: Record<string, string>) => `${field} ${code}`),
    ]).toEqual([400, [fault]]);
  });

  it('changes nothing without a finding', async () => {
    expect((await post('ab'.repeat(32), { acknowledged: true })).status).toBe(404);
    expect(await history()).toEqual([]);
  });
});
