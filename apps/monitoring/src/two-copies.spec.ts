import { eventually } from '@certwright/testing';
import { Tenant } from '@certwright/core-testing';
import { permission, RunningApi } from './testing/running-api';

const domains = '/api/v3/monitoring/monitored_domains';

let one: RunningApi;
let other: RunningApi;
beforeAll(async () => {
  const limits = { FAILED_AUTHENTICATION_PER_MIN: '1', TRUSTED_PROXIES: '127.0.0.1' };
  one = await RunningApi.start(limits);
  other = await RunningApi.start({
    ...limits,
    DATABASE_URL: one.database.urlOf('monitoring'),
    ...one.redis.environment,
  });
});
afterAll(async () => {
  await other.stop();
  await one.stop();
});

/** The same account at both copies. */
async function atBoth(): Promise<[Tenant, Tenant]> {
  const tenant = await one.tenant(permission);
  return [tenant, new Tenant(other, tenant.accountId, tenant.apiKey)];
}

it('create one monitored domain and record one change when both get the request at the same time', async () => {
  const [here, there] = await atBoth();
  const responses = await Promise.all(
    [here, there, here, there].map(async (tenant) => await tenant.post(`${domains}/example.com`, {})),
  );
  expect(responses.map(({ status }) => status).sort()).toEqual([200, 200, 200, 201]);
  const changes = await one.database.query(`SELECT action FROM monitoring_change WHERE account_id = $1`, [
    here.accountId,
  ]);
  expect(changes).toEqual([{ action: 'created' }]);
  expect((await there.get(domains)).json).toEqual((await here.get(domains)).json);
  expect((await there.delete(`${domains}/example.com`)).status).toBe(204);
  expect((await here.get(`${domains}/example.com`)).status).toBe(404);
});

it('count wrong keys of an address together', async () => {
  const { accountId } = await one.tenant(permission);
  let address = 0;
  const attempt = async (copy: RunningApi) =>
    await copy.call('GET', domains, {
      headers: {
        authorization: `Bearer ${accountId}_${'A'.repeat(32)}`,
        'x-forwarded-for': `192.0.2.${address}`,
      },
    });
  // While Redis is too slow on a busy machine, each copy counts by itself; then another address is tried.
  await eventually(async () => {
    address += 1;
    const statuses = [(await attempt(one)).status, (await attempt(other)).status];
    expect(statuses).toEqual([401, 429]);
  });
});
