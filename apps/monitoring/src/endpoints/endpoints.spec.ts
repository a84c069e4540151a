import { checkedEndpoint } from '@certwright/core-testing';
import type { ReceivedResponse } from '@certwright/testing';
import { permission, RunningApi, type Tenant } from '../testing/running-api';

const root = '/api/v3/monitoring';
const endpoints = `${root}/endpoints`;

let api: RunningApi;
let tenant: Tenant;

beforeAll(async () => {
  api = await RunningApi.start({ ENDPOINT_PORTS: '443,8443,853,993,995' });
});
beforeEach(async () => {
  tenant = await api.tenant(permission);
});
afterAll(() => api.stop());

const result = ({ status, json }: ReceivedResponse) => [status, json];
const domain = async (name: string, enabled = true) =>
  await tenant.post(`${root}/monitored_domains/${name}`, { enabled });
const names = async (query = '') =>
  (await tenant.get(endpoints + query)).json.map(({ dns_name }: { dns_name: string }) => dns_name);
const endpoint = {
  dns_name: 'www.example.com',
  muted: false,
  ports: [443],
  state: 'not_checked',
  since: expect.any(String),
  findings: [],
  addresses: [],
  looked_at: null,
};

it('exist for enabled hosts that are monitored by name, until these are deleted', async () => {
  await domain('www.example.com');
  for (const name of ['.example.com', '_dmarc.example.com']) await domain(name);
  await domain('off.example.com', false);
  expect(result(await tenant.get(endpoints))).toEqual([200, [endpoint]]);
  expect(result(await tenant.get(`${endpoints}/WWW.example.com`))).toEqual([200, endpoint]);
  await domain('off.example.com');
  expect(await names()).toEqual(['off.example.com', 'www.example.com']);
  await api.database.query(
    `UPDATE monitored_endpoint SET last_not_after = now() WHERE account_id = $1 AND dns_name = 'off.example.com'`,
    [tenant.accountId],
  );
  for (const name of await names()) await tenant.delete(`${root}/monitored_domains/${name}`);
  expect(await names()).toEqual(['off.example.com']);
});

it('exist again when their host is monitored again', async () => {
  await domain('www.example.com');
  await checkedEndpoint(api.database, tenant.accountId, 'www.example.com');
  await tenant.delete(`${root}/monitored_domains/www.example.com`);
  expect(await names()).toEqual([]);
  await domain('www.example.com');
  expect(result(await tenant.get(`${endpoints}/www.example.com`))).toEqual([200, endpoint]);
});

it('show what the checks found, with texts of servers as data', async () => {
  await checkedEndpoint(api.database, tenant.accountId, 'www.example.com');
  const { json } = await tenant.get(`${endpoints}/www.example.com`);
  expect(json).toMatchObject({
    state: 'failing',
    since: '2026-11-20T12:20:00Z',
    looked_at: '2026-11-20T18:00:00Z',
  });
  expect(json.findings).toHaveLength(17);
  const { findings, addresses } = json;
  expect(findings.at(-1)).toMatchObject({ finding: 'dangling', address: null, target: 'gone.example' });
  expect(addresses[0].certificate.dns_names).toEqual(['<b>\u202eother.example</b>']);
  expect((await tenant.get(endpoints)).json).toEqual([json]);
});

it('are not created beyond the limit of the account', async () => {
  await api.database.query(`UPDATE account SET max_monitored_endpoints = 1 WHERE id = $1`, [
    tenant.accountId,
  ]);
  expect((await domain('b.example.com')).status).toBe(201);
  expect((await domain('a.example.com')).status).toBe(201);
  expect(await names()).toEqual(['b.example.com']);
});

it('are listed in pages by name', async () => {
  for (const label of ['a', 'b', 'c']) await domain(`${label}.example.com`);
  const page = await tenant.get(`${endpoints}?limit=2`);
  expect(page.headers.link).toBe(`<${endpoints}?after=b.example.com&limit=2>; rel="next"`);
  expect(await names('?after=b.example.com&limit=2')).toEqual(['c.example.com']);
});

it('are filtered by state, in pages', async () => {
  const states = { a: 'ok', b: 'failing', c: 'gone', d: 'failing' };
  for (const [label, state] of Object.entries(states))
    await api.database.query(
      `INSERT INTO monitored_endpoint (account_id, dns_name, state) VALUES ($1, $2, $3)`,
      [tenant.accountId, `${label}.example.com`, state],
    );
  expect(await names('?state=failing')).toEqual(['b.example.com', 'd.example.com']);
  expect(await names('?state=')).toHaveLength(4);
  const page = await tenant.get(`${endpoints}?state=failing&state=gone&state=gone&limit=2`);
  expect(page.json.map(({ dns_name }: { dns_name: string }) => dns_name)).toEqual([
    ...['b.example.com', 'c.example.com'],
  ]);
  const next = `${endpoints}?after=c.example.com&limit=2&state=failing&state=gone`;
  expect(page.headers.link).toBe(`<${next}>; rel="next"`);
  expect((await tenant.get(next)).headers.link).toBeUndefined();
  for (const query of ['?state=bad', '?state=ok&state=bad'])
    expect((await tenant.get(endpoints + query)).json.sub_errors).toEqual([
      {
        ...{ field: 'state', code: 'invalid_value' },
        message: 'It must be one of not_checked, ok, suspect, failing, unreachable, gone.',
      },
    ]);
});

it('are checked at once, but not twice a minute, when they get other ports, or are unmuted or monitored again', async () => {
  await domain('www.example.com');
  const minutesUntilCheckAfter = async (change: () => Promise<unknown>, looked = 'NULL') => {
    await api.database.query(
      `UPDATE monitored_endpoint SET check_due_at = now() + interval '1 hour', looked_at = ${looked} WHERE account_id = $1`,
      [tenant.accountId],
    );
    await change();
    const [row] = await api.database.query<{ minutes: number }>(
      `SELECT ceil(extract(epoch FROM check_due_at - now()) / 60)::int AS minutes FROM monitored_endpoint WHERE account_id = $1`,
      [tenant.accountId],
    );
    return row?.minutes;
  };
  const post = (body: object) => async () => await tenant.post(`${endpoints}/www.example.com`, body);
  expect(await minutesUntilCheckAfter(post({ muted: true }))).toBe(60);
  expect(await minutesUntilCheckAfter(post({ muted: false }))).toBeLessThanOrEqual(0);
  expect(await minutesUntilCheckAfter(post({ ports: [443, 853] }))).toBeLessThanOrEqual(0);
  expect(await minutesUntilCheckAfter(post({ ports: [443, 853], muted: false }))).toBe(60);
  expect(await minutesUntilCheckAfter(post({ ports: [443] }), `now() + interval '9 minutes'`)).toBe(10);
  await domain('www.example.com', false);
  expect(await minutesUntilCheckAfter(() => domain('www.example.com'))).toBeLessThanOrEqual(0);
});

it('are listed, retrieved and muted by names that only certificates of long ago may have', async () => {
  const labels = ['-a', 'a_b', 'r3---sn', 'www'];
  for (const label of labels)
    await api.database.query(`INSERT INTO monitored_endpoint (account_id, dns_name) VALUES ($1, $2)`, [
      tenant.accountId,
      `${label}.example.com`,
    ]);
  for (const [nth, label] of labels.entries()) {
    const name = `${label}.example.com`;
    expect(await names(`?after=${name}`)).toEqual(labels.slice(nth + 1).map((each) => `${each}.example.com`));
    expect(await tenant.get(`${endpoints}/${label.toUpperCase()}.example.com.`)).toMatchObject({
      status: 200,
      json: { dns_name: name },
    });
    expect(await tenant.post(`${endpoints}/${name}`, { muted: true })).toMatchObject({
      status: 200,
      json: { dns_name: name, muted: true },
    });
  }
  expect(await tenant.get(`${endpoints}?after=a%20b`)).toMatchObject({ status: 400 });
});

it('are muted and get ports, which is recorded once', async () => {
  await domain('www.example.com');
  const post = async (body: unknown) => await tenant.post(`${endpoints}/www.example.com`, body);
  const first = { ...endpoint, ports: [443, 853] };
  expect(result(await post({ ports: [853, 443, 853] }))).toEqual([200, first]);
  expect(result(await post({ ports: [443, 853], muted: false }))).toEqual([200, first]);
  expect(result(await post({ muted: true }))).toEqual([200, { ...first, muted: true }]);
  const values = (muted: boolean, ...ports: number[]) => ({ dns_name: 'www.example.com', muted, ports });
  expect(
    await api.database.query(
      `SELECT name, action, before, after FROM monitoring_change WHERE account_id = $1 AND object = 'endpoint' ORDER BY id`,
      [tenant.accountId],
    ),
  ).toEqual(
    [
      [values(false, 443), values(false, 443, 853)],
      [values(false, 443, 853), values(true, 443, 853)],
    ].map(([before, after]) => ({ name: 'www.example.com', action: 'changed', before, after })),
  );
});

it.each<[unknown, string]>([
  [{ muted: 1 }, 'muted invalid_value'],
  [{ ports: 443 }, 'ports invalid_value'],
  [{ ports: [] }, 'ports invalid_value'],
  [{ ports: ['443'] }, 'ports invalid_value'],
  [{ ports: [0] }, 'ports invalid_value'],
  [{ ports: [443, 853, 993, 995, 8443] }, 'ports invalid_value'],
  [{ ports: [22] }, 'ports out_of_range'],
  [{ state: 'fine' }, 'state invalid_value'],
])('refuse %j', async (body, fault) => {
  await domain('www.example.com');
  const { status, json } = await tenant.post(`${endpoints}/www.example.com`, body);
  expect([
    status,
    json.sub_errors.map(({ field, code }: Record<string, string>) => `${field} ${code}`),
  ]).toEqual([400, [fault]]);
});

it.each(['www.example.net', '.example.com', '*.example.com', '192.0.2.1', 'x'])(
  'that do not exist, as %s, get 404',
  async (name) => {
    for (const method of ['GET', 'POST'])
      expect(
        result(
          await tenant.call(method, `${endpoints}/${name}`, { body: method === 'POST' ? {} : undefined }),
        ),
      ).toEqual([404, { code: 'not_found', message: 'The account has no endpoint of this name.' }]);
  },
);
