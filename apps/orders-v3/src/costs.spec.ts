import { certificateRequest, keyPair } from './testing/certificate-request';
import { RunningApi, type Tenant } from './testing/running-api';

const csr = certificateRequest(keyPair('p256'), { dnsNames: ['example.com'] });

let api: RunningApi;
let tenant: Tenant;

beforeAll(async () => {
  api = await RunningApi.start();
  tenant = await api.tenant();
  await tenant.post('/api/v3/orders', { name: 'warm', dns_names: ['example.com'], csr });
});
afterAll(() => api.stop());

/** BEGIN and COMMIT are no work. */
const workOf = async (work: () => Promise<unknown>) =>
  (await api.statementsOf(work)).filter((statement) => !/^(START TRANSACTION|COMMIT)/.test(statement));

it('creates an order with 6 statements and one commit', async () => {
  const create = () => tenant.post('/api/v3/orders', { name: 'new', dns_names: ['example.com'], csr });
  const sent = await api.statementsOf(create);
  expect(sent.filter((statement) => statement === 'COMMIT')).toHaveLength(1);
  // Products are read again every five seconds.
  const work = sent.filter((statement) => !/^(START TRANSACTION|COMMIT)|ProductEntity/.test(statement));
  expect(work).toHaveLength(6);
});

it('creates an order of a product that is sold by time with three statements more', async () => {
  await tenant.post('/api/v3/orders', { name: 'first', dns_names: ['example.com'], csr });
  const free = await workOf(() =>
    tenant.post('/api/v3/orders', { name: 'second', dns_names: ['example.com'], csr }),
  );
  const product = 'paid_ca';
  const paid = await workOf(() =>
    tenant.post('/api/v3/orders', { name: 'third', dns_names: ['example.com'], csr, product }),
  );
  expect(paid.length - free.length).toBeLessThanOrEqual(3);
});

it('retrieves an order with at most 5 statements, and one without expansion', async () => {
  expect(await workOf(() => tenant.get('/api/v3/orders/warm'))).toHaveLength(1);
  expect(
    await workOf(() => tenant.get('/api/v3/orders/warm?expand=current_cert.chain&expand=csr')),
  ).toHaveLength(2);
  await tenant.get('/api/v3/orders/warm?expand=issuance');
  expect(await workOf(() => tenant.get('/api/v3/orders/warm?expand=issuance'))).toHaveLength(5);
});

it('lists orders with a number of statements that does not grow with theirs', async () => {
  const list = () => tenant.get('/api/v3/orders?expand=issuance&expand=current_cert&expand=csr');
  await list();
  const few = await workOf(list);
  for (let count = 0; count < 10; count += 1) {
    await tenant.post('/api/v3/orders', { name: `n${count}`, dns_names: ['example.com'], csr });
  }
  expect(await workOf(list)).toEqual(few);
  expect(few).toHaveLength(6);
});
