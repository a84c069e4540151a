import { countWrongKeysTogether, startTwoCopies, Tenant } from '@certwright/core-testing';
import { permission, RunningApi } from './testing/running-api';

const domains = '/api/v3/monitoring/monitored_domains';

let one: RunningApi;
let other: RunningApi;
beforeAll(async () => void ([one, other] = await startTwoCopies('monitoring', RunningApi.start)));
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
  await countWrongKeysTogether([one, other], accountId, domains);
});
