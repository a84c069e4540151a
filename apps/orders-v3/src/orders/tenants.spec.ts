import { ListTurns } from '@certwright/service';
import type { ReceivedResponse } from '@certwright/testing';
import { certificateRequest, keyPair } from '../testing/certificate-request';
import { attachCertificate, RunningApi, type Tenant } from '../testing/running-api';
import { OrdersRepository } from './orders.repository';

const csr = certificateRequest(keyPair('p256'), { dnsNames: ['example.com'] });

let api: RunningApi;
let owner: Tenant;
let other: Tenant;
let certificateId: number;

beforeAll(async () => {
  api = await RunningApi.start();
  [owner, other] = await Promise.all([api.tenant(), api.tenant()]);
  const { json } = await owner.post('/api/v3/orders', { dns_names: ['example.com'], csr });
  const certificate = { dnsNames: ['example.com'], pubkeySha256: json.pubkey_sha256 };
  certificateId = await attachCertificate(api, owner, 'example.com', certificate);
});
afterAll(() => api.stop());

const probes: readonly [string, (name: string) => Promise<ReceivedResponse>][] = [
  ['GET an order', (name) => other.get(`/api/v3/orders/${name}?expand=current_cert.leaf&expand=issuance`)],
  ['POST an order', (name) => other.post(`/api/v3/orders/${name}`, { muted: true }, { 'if-match': '"1"' })],
  ['DELETE an order', (name) => other.delete(`/api/v3/orders/${name}`, { headers: { 'if-match': '"9"' } })],
  ['GET the certificates', (name) => other.get(`/api/v3/orders/${name}/certs`)],
  ['GET a certificate', (name) => other.get(`/api/v3/orders/${name}/certs/${certificateId}`)],
];

it.each(probes)('returns the same for %s of another account as for an unknown one', async (_what, probe) => {
  const [foreign, missing] = [await probe('example.com'), await probe('example.org')];
  const comparable = ({ status, headers, text }: ReceivedResponse) => {
    const { date: _date, 'x-request-id': _id, ...rest } = headers;
    return { status, text, headers: rest };
  };
  expect(foreign.status).toBe(404);
  expect(comparable(foreign)).toEqual(comparable(missing));
});

it('returns each account its own order while both read orders of one name at the same time', async () => {
  const [one, two] = await Promise.all([api.tenant(), api.tenant()]);
  const names = Array.from({ length: 16 }, (_, at) => `shared-${at}`);
  for (const name of names) {
    await one.post('/api/v3/orders', { name, dns_names: ['example.com'], csr, muted: true });
    await two.post('/api/v3/orders', { name, dns_names: ['example.com'], csr, muted: false });
  }
  const read = async (tenant: Tenant) =>
    await Promise.all(names.map(async (name) => (await tenant.get(`/api/v3/orders/${name}`)).json));
  const [own, others] = await Promise.all([read(one), read(two)]);
  expect(own.map(({ name, muted }) => [name, muted])).toEqual(names.map((name) => [name, true]));
  expect(others.map(({ name, muted }) => [name, muted])).toEqual(names.map((name) => [name, false]));
});

it('sends the same queries for a name of another account and for an unknown one', async () => {
  const countOf = async (name: string) => {
    await other.get(`/api/v3/orders/${name}`);
    return await api.statementsOf(() => other.get(`/api/v3/orders/${name}?expand=issuance`));
  };
  expect(await countOf('example.com')).toEqual(await countOf('example.org'));
});

it('lets two accounts have an order of the same name and DNS names, each with a record of its own', async () => {
  const created = await other.post('/api/v3/orders?expand=issuance', { dns_names: ['example.com'], csr });
  expect(created.status).toBe(201);
  const mine = await owner.get('/api/v3/orders/example.com?expand=issuance');
  const label = ({ json }: ReceivedResponse) => json.issuance.names[0].record.options[0].value;
  expect(label(created)).not.toBe(label(mine));
  expect((await other.get('/api/v3/orders')).json).toHaveLength(1);
  expect((await other.get(`/api/v3/orders/example.com/certs/${certificateId}`)).status).toBe(404);
  await other.delete('/api/v3/orders/example.com');
  expect((await owner.get('/api/v3/orders/example.com')).status).toBe(200);
});

it('does not know a cluster of another account', async () => {
  await api.database.query(`INSERT INTO cluster (account_id, name) VALUES ($1, 'web')`, [owner.accountId]);
  const response = await other.post('/api/v3/orders', { dns_names: ['example.com'], cluster: 'web' });
  expect(response.json.sub_errors).toMatchObject([{ field: 'cluster', code: 'unknown_cluster' }]);
});

describe('authentication', () => {
  const path = '/api/v3/orders';

  it('takes the API key as Bearer token, or as user name of Basic authentication', async () => {
    const basic = Buffer.from(`${owner.apiKey}:`).toString('base64');
    expect((await api.call('GET', path, { headers: { authorization: `Basic ${basic}` } })).status).toBe(200);
    expect((await owner.get(path)).status).toBe(200);
  });

  it('returns 401 with a challenge without a key or with a wrong one', async () => {
    for (const headers of [{}, { authorization: `Bearer ${owner.accountId}_${'x'.repeat(32)}` }]) {
      const response = await api.call('GET', path, { headers: headers as Record<string, string> });
      expect(response).toMatchObject({ status: 401, json: { code: 'bad_credentials' } });
      expect(response.headers['www-authenticate']).toContain('Bearer');
    }
  });

  it('needs the permission Order and Manage Certificates, or Full Access', async () => {
    const full = await api.tenant('Full Access');
    const none = await api.tenant('Manage Monitored Domains');
    expect((await full.get(path)).status).toBe(200);
    expect(await none.get(path)).toMatchObject({ status: 403, json: { code: 'unauthorized' } });
  });
});

it('builds the lists of an account in turn, so that others do not wait for them, and without CSRs unless they are expanded', async () => {
  const [one, two] = [await api.tenant(), await api.tenant()];
  for (const tenant of [one, two]) await tenant.post('/api/v3/orders', { dns_names: ['example.com'], csr });
  const turns = jest.spyOn(api.app.get(ListTurns), 'run');
  const pages = jest.spyOn(api.app.get(OrdersRepository), 'page');
  const plain = await one.get('/api/v3/orders?expand=issuance');
  const expanded = await one.get('/api/v3/orders?expand=issuance&expand=csr');
  await two.get('/api/v3/orders/example.com/certs');
  await two.get('/api/v3/orders/example.com');
  const accounts = turns.mock.calls.map(([accountId]) => accountId);
  expect(accounts).toEqual([one.accountId, one.accountId, two.accountId]);
  expect(pages.mock.calls.map(([, { withCsr }]) => withCsr)).toEqual([false, true]);
  expect(expanded.json).toEqual([{ ...plain.json[0], csr }]);
  turns.mockRestore();
  pages.mockRestore();
});
