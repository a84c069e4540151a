import { leaksOf, pastedKeyRequests } from '@certwright/testing';
import { certificateRequest, keyPair } from './testing/certificate-request';
import { keptDocument, RunningApi, type Tenant } from './testing/running-api';

// Thousands of requests.
jest.setTimeout(300_000);

const csr = certificateRequest(keyPair('p256'), { dnsNames: ['example.com'] });
const order = { name: 'an-order', dns_names: ['example.com'], csr };
const requests = pastedKeyRequests(keptDocument, {
  path: { name: 'existing' },
  bodies: { 'post /api/v3/orders': order, 'post /api/v3/orders/{name}': order },
});

let api: RunningApi;
let tenant: Tenant;

beforeAll(async () => {
  api = await RunningApi.start({ LOG_LEVEL: 'debug', FAILED_AUTHENTICATION_PER_MIN: '100000' });
  tenant = await api.tenant('Full Access');
  await tenant.post('/api/v3/orders', { ...order, name: 'existing' });
});
afterAll(() => api.stop());

it('a private key that was pasted anywhere is in no response and in no line of the log', async () => {
  const leaks = await leaksOf(requests, (each) => tenant.call(each.method, each.path, each), api.logged);
  expect(requests.length).toBeGreaterThan(1_000);
  expect(leaks).toEqual([]);
});
