import { csrPem } from './testing/fixtures';
import { addFinding } from './testing/findings';
import { permission, RunningApi, type Tenant } from './testing/running-api';

const root = '/api/v3/monitoring';
const pem = { 'content-type': 'application/x-pem-file' };

let api: RunningApi;
let tenant: Tenant;

beforeAll(async () => {
  api = await RunningApi.start();
  tenant = await api.tenant(permission);
});
afterAll(() => api.stop());

/** With a key that was just read. BEGIN and COMMIT are no work. */
const costOf = async (work: () => Promise<unknown>) => {
  await tenant.get(`${root}/monitored_domains`);
  const statements = await api.statementsOf(work);
  return statements.filter((statement) => !/^(START TRANSACTION|COMMIT)/.test(statement)).length;
};

it('creates a monitored domain with 4 statements, changes one with 4, and finds one with 2', async () => {
  const post = async (body: object) => await tenant.post(`${root}/monitored_domains/.example.com`, body);
  expect(await costOf(() => post({}))).toBe(4);
  expect(await costOf(() => post({ enabled: false }))).toBe(4);
  expect(await costOf(() => post({}))).toBe(2);
});

it('deletes a monitored domain with 3 statements', async () => {
  expect(await costOf(() => tenant.delete(`${root}/monitored_domains/.example.com`))).toBe(3);
});

it('creates, enables and deletes a host with a statement more, for its endpoint', async () => {
  const host = `${root}/monitored_domains/example.com`;
  expect(await costOf(() => tenant.post(host, {}))).toBe(5);
  expect(await costOf(() => tenant.post(host, { enabled: false }))).toBe(4);
  expect(await costOf(() => tenant.post(host, { enabled: true }))).toBe(5);
  expect(await costOf(() => tenant.delete(host))).toBe(4);
});

it('changes an endpoint with 4 statements, and finds one with 2', async () => {
  await tenant.post(`${root}/monitored_domains/www.example.com`, {});
  const post = async () => await tenant.post(`${root}/endpoints/www.example.com`, { muted: true });
  expect(await costOf(post)).toBe(4);
  expect(await costOf(post)).toBe(2);
});

it('shows the status with 3 statements, and creates a test with 5', async () => {
  expect(await costOf(() => tenant.get(`${root}/status`))).toBe(3);
  expect(await costOf(() => tenant.post(`${root}/test`, {}))).toBe(5);
});

it('reads a monitored domain, every list and the settings with 1 statement, however many objects there are', async () => {
  for (const path of [
    'monitored_domains',
    'monitored_domains/a.com',
    'known_keys',
    'known_certs',
    'settings',
    'monitored_domains?expand=status',
    'endpoints',
    'endpoints/a.com',
    'certificates',
    `certificates/${await addFinding(api.database, tenant.accountId)}`,
    'certificates?state=unknown&monitored_domain=.example.com',
  ])
    expect([path, await costOf(() => tenant.get(`${root}/${path}`))]).toEqual([path, 1]);
  for (let at = 0; at < 10; at += 1) await tenant.post(`${root}/monitored_domains/n${at}.example.com`, {});
  for (const query of ['', '?expand=status'])
    expect(await costOf(() => tenant.get(`${root}/monitored_domains${query}`))).toBe(1);
});

it('adds a known key with 4 statements and finds one with 2', async () => {
  expect(await costOf(() => tenant.post(`${root}/known_keys`, csrPem, pem))).toBe(4);
  expect(await costOf(() => tenant.post(`${root}/known_keys`, csrPem, pem))).toBe(2);
});

it('acknowledges a certificate with 7 statements, and finds it acknowledged with 3', async () => {
  const digest = await addFinding(api.database, tenant.accountId);
  const post = async () => await tenant.post(`${root}/certificates/${digest}`, { acknowledged: true });
  expect(await costOf(post)).toBe(7);
  expect(await costOf(post)).toBe(3);
});

it('changes the settings with 4 statements', async () => {
  expect(await costOf(() => tenant.post(`${root}/settings`, { heartbeat: 'off' }))).toBe(4);
  expect(await costOf(() => tenant.post(`${root}/settings`, { heartbeat: 'off' }))).toBe(2);
});

it('refuses an invalid request without a statement', async () => {
  expect(await costOf(() => tenant.post(`${root}/monitored_domains/*.example.com`, {}))).toBe(0);
  expect(await costOf(() => tenant.post(`${root}/known_keys`, 'x', pem))).toBe(0);
});
