import { checkedEndpoint, Tenant } from '@certwright/core-testing';
import { RunningApi as Monitoring } from '../../apps/monitoring/src/testing/running-api';
import { certificateRequest, keyPair } from '../../apps/orders-v3/src/testing/certificate-request';
import { RunningApi as Orders } from '../../apps/orders-v3/src/testing/running-api';

const orders = '/api/v3/orders';
const endpoints = '/api/v3/monitoring/endpoints';

let api: Orders;
let monitoring: Monitoring;
let tenant: Tenant;
let monitored: Tenant;

beforeAll(async () => {
  api = await Orders.start();
  monitoring = await Monitoring.start({ DATABASE_URL: api.database.urlOf('monitoring') });
  tenant = await api.tenant('Full Access');
  monitored = new Tenant(monitoring, tenant.accountId, tenant.apiKey);
  const csr = certificateRequest(keyPair('p256'), { dnsNames: ['www.example.com', '*.example.com'] });
  await tenant.post(orders, { name: 'unmanaged', dns_names: ['www.example.com', '*.example.com'], csr });
  await api.database.query(`INSERT INTO cluster (account_id, name) VALUES ($1, 'web')`, [tenant.accountId]);
  const names = ['www.example.com', 'api.example.com', 'shop.example.com'];
  await tenant.post(orders, { name: 'managed', dns_names: names, cluster: 'web' });
});
afterAll(async () => {
  await monitoring.stop();
  await api.stop();
});

it('an order shows no endpoint while none is monitored, or another account monitors its names', async () => {
  const other = await api.tenant();
  await checkedEndpoint(api.database, other.accountId, 'www.example.com');
  for (const name of ['unmanaged', 'managed'])
    expect((await tenant.get(`${orders}/${name}?expand=issuance`)).json.issuance.endpoints).toEqual([]);
});

it('an order and the monitoring API show the same endpoints', async () => {
  await checkedEndpoint(api.database, tenant.accountId, 'www.example.com');
  await checkedEndpoint(api.database, tenant.accountId, 'deep.www.example.com');
  await monitored.post('/api/v3/monitoring/monitored_domains/api.example.com', {});
  const shown = async (name: string) => (await monitored.get(`${endpoints}/${name}`)).json;
  const [www, host] = [await shown('www.example.com'), await shown('api.example.com')];
  expect([www.state, host.state]).toEqual(['failing', 'not_checked']);
  expect(www.findings.length).toBeGreaterThan(10);
  const { json: page } = await tenant.get(`${orders}?expand=issuance`);
  expect(
    page.map(({ name, issuance }: { name: string; issuance: { endpoints: unknown } }) => [
      name,
      issuance.endpoints,
    ]),
  ).toEqual([
    ['managed', [www, host]],
    ['unmanaged', [www]],
  ]);
  const { json: one } = await tenant.get(`${orders}/managed?expand=issuance`);
  expect(one.issuance.endpoints).toEqual([www, host]);
});
