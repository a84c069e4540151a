import { permission, RunningApi, type Tenant } from '../testing/running-api';

const root = '/api/v3/monitoring';

let api: RunningApi;
let tenant: Tenant;

beforeAll(async () => {
  api = await RunningApi.start();
});
beforeEach(async () => {
  tenant = await api.tenant(permission);
});
afterAll(() => api.stop());

it('creates a certificate that waits for its classification, for an enabled monitored domain', async () => {
  await tenant.post(`${root}/monitored_domains/.a.example.com`, { enabled: false });
  await tenant.post(`${root}/monitored_domains/.b.example.com`, {});
  const created = await tenant.post(`${root}/test`, {});
  const { status, headers, json } = created;
  expect([status, json]).toMatchObject([
    202,
    {
      ...{ id: null, state: 'waiting', reason: 'waiting', source: 'test', endpoint_count: 1 },
      endpoints: [
        { dns_name: 'b.example.com', monitored_domain: '.b.example.com', wildcard: false, odd_name: false },
      ],
    },
  ]);
  expect(headers.location).toBe(`${root}/certificates/${json.tbs_sha256}`);
  expect((await tenant.get(String(headers.location))).json).toEqual(json);
  const [row] = await api.database.query(
    `SELECT classify_at <= now() AS due, alert_due_at, dns_names, monitored_domains
     FROM monitoring_finding WHERE account_id = $1`,
    [tenant.accountId],
  );
  expect(row).toEqual({
    ...{ due: true, alert_due_at: null, dns_names: ['b.example.com'], monitored_domains: ['.b.example.com'] },
  });
  const { usage } = (await tenant.get(`${root}/status`)).json;
  expect(usage.findings_per_day).toBe(0);
});

it('names example.com without a monitored domain', async () => {
  const { json } = await tenant.post(`${root}/test`, undefined);
  expect(json.endpoints).toMatchObject([{ dns_name: 'example.com', monitored_domain: 'example.com' }]);
});

it('is refused after 5 within an hour, also at the same time, and works again later', async () => {
  const statuses = await Promise.all(
    Array.from({ length: 8 }, async () => (await tenant.post(`${root}/test`, {})).status),
  );
  expect(statuses.sort()).toEqual([202, 202, 202, 202, 202, 429, 429, 429]);
  const refused = await tenant.post(`${root}/test`, {});
  expect(refused).toMatchObject({ status: 429, json: { code: 'rate_limited' } });
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3_500);
  expect((await (await api.tenant(permission)).post(`${root}/test`, {})).status).toBe(202);
  await api.database.query(
    `UPDATE monitoring_finding SET found_at = found_at - interval '1 hour' WHERE account_id = $1`,
    [tenant.accountId],
  );
  expect((await tenant.post(`${root}/test`, {})).status).toBe(202);
});

it('takes no members', async () => {
  expect((await tenant.post(`${root}/test`, { dns_name: 'example.com' })).status).toBe(400);
});
