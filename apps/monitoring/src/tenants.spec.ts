import type { ReceivedResponse } from '@certwright/testing';
import { csrPem, tbsSha256 } from './testing/fixtures';
import { addFinding } from './testing/findings';
import { permission, RunningApi, type Tenant } from './testing/running-api';

const root = '/api/v3/monitoring';
const key = { pubkey_sha256: tbsSha256, dns_names: ['example.com'] };

let api: RunningApi;
let owner: Tenant;
let other: Tenant;
let ids: Readonly<Record<'key' | 'cert', number>>;
let digest: string;

beforeAll(async () => {
  api = await RunningApi.start();
  [owner, other] = await Promise.all([api.tenant(permission), api.tenant(permission)]);
  await owner.post(`${root}/monitored_domains/example.com`, { enabled: false });
  await owner.post(`${root}/settings`, { alert_delay_minutes: 30 });
  await owner.post(`${root}/monitored_domains/www.example.com`, {});
  digest = await addFinding(api.database, owner.accountId);
  ids = {
    key: (await owner.post(`${root}/known_keys`, key)).json.id,
    cert: (await owner.post(`${root}/known_certs`, { tbs_sha256: tbsSha256 })).json.id,
  };
});
afterAll(() => api.stop());

/** All that a caller sees of an answer. */
const visible = ({ status, headers, text }: ReceivedResponse) => {
  const { date: _date, 'x-request-id': _id, ...rest } = headers;
  return { status, text, headers: rest };
};

it.each<[string, () => string, string]>([
  ['GET', () => 'monitored_domains/example.com', 'monitored_domains/example.net'],
  ['GET', () => `certificates/${digest}`, `certificates/${'ab'.repeat(32)}`],
  ['POST', () => `certificates/${digest}`, `certificates/${'ab'.repeat(32)}`],
  ['GET', () => 'endpoints/www.example.com', 'endpoints/www.example.net'],
  ['POST', () => 'endpoints/www.example.com', 'endpoints/www.example.net'],
  ['DELETE', () => 'monitored_domains/example.com', 'monitored_domains/example.net'],
  ['DELETE', () => `known_keys/${ids.key}`, 'known_keys/1'],
  ['DELETE', () => `known_certs/${ids.cert}`, 'known_certs/1'],
])(
  '%s of an object of another account (%s) returns the same as of an unknown one',
  async (method, theirs, unknown) => {
    const body = method === 'POST' ? {} : undefined;
    const [one, two] = [
      await other.call(method, `${root}/${theirs()}`, { body }),
      await other.call(method, `${root}/${unknown}`, { body }),
    ];
    expect(one.status).toBe(404);
    expect(visible(one)).toEqual(visible(two));
  },
);

it('shows an account nothing of another one', async () => {
  for (const list of ['monitored_domains', 'known_keys', 'known_certs', 'certificates', 'endpoints'])
    expect((await other.get(`${root}/${list}`)).json).toEqual([]);
  expect((await other.get(`${root}/settings`)).json.alert_delay_minutes).toBe(0);
  expect((await other.get(`${root}/status`)).json.usage).toMatchObject({
    monitored_domains: 0,
    endpoints: 0,
  });
});

it('lets two accounts have the same objects', async () => {
  const newcomer = await api.tenant(permission);
  expect((await newcomer.post(`${root}/monitored_domains/example.com`, {})).status).toBe(201);
  const added = await newcomer.post(`${root}/known_keys`, key);
  expect(added.status).toBe(201);
  expect((await newcomer.post(`${root}/known_certs`, { tbs_sha256: tbsSha256 })).status).toBe(201);
  const csr = { 'content-type': 'application/x-pem-file' };
  expect((await newcomer.post(`${root}/known_keys`, csrPem, csr)).status).toBe(201);
  await newcomer.delete(`${root}/monitored_domains/example.com`);
  await newcomer.delete(`${root}/known_keys/${added.json.id}`);

  expect((await owner.get(`${root}/monitored_domains`)).json).toEqual([
    { name: 'example.com', enabled: false },
    { name: 'www.example.com', enabled: true },
  ]);
  expect((await owner.get(`${root}/known_keys`)).json).toHaveLength(1);
});

it('gives ids that do not reveal how many objects there are', async () => {
  const newcomer = await api.tenant(permission);
  const made = [];
  for (const at of [1, 2, 3])
    made.push((await newcomer.post(`${root}/known_certs`, { tbs_sha256: `${at}`.repeat(64) })).json.id);
  expect(made.every((id) => id > 1_000)).toBe(true);
  expect(Math.abs(made[1] - made[0])).toBeGreaterThan(1_000);
});

it('counts the limit of each account apart', async () => {
  await api.database.query(`UPDATE account SET max_monitored_domains = 1 WHERE id = $1`, [owner.accountId]);
  expect((await owner.post(`${root}/monitored_domains/b.example.com`, {})).status).toBe(403);
  expect((await other.post(`${root}/monitored_domains/b.example.com`, {})).status).toBe(201);
});

describe('without a valid key', () => {
  it.each<[string, string]>([
    ['GET', 'monitored_domains'],
    ['POST', 'monitored_domains/example.com'],
    ['GET', 'known_keys'],
    ['POST', 'known_certs'],
    ['GET', 'settings'],
    ['GET', 'certificates'],
    ['GET', 'endpoints'],
    ['GET', 'status'],
    ['POST', 'test'],
    ['POST', 'certificates/ab'],
  ])('%s %s is refused', async (method, path) => {
    for (const headers of [{}, { authorization: `Bearer 1_${'a'.repeat(32)}` }])
      expect(
        await api.call(method, `${root}/${path}`, { headers: headers as Record<string, string> }),
      ).toMatchObject({
        status: 401,
        json: { code: 'bad_credentials' },
      });
  });

  it('accepts the key as user name of Basic authentication', async () => {
    const authorization = `Basic ${Buffer.from(`${owner.apiKey}:`).toString('base64')}`;
    expect((await api.call('GET', `${root}/monitored_domains`, { headers: { authorization } })).status).toBe(
      200,
    );
  });
});
