import { IssuanceNews } from '@certwright/redis';
import { eventually } from '@certwright/testing';
import { PendingInstances } from './instances/pending-instances';
import { activatePending, chargesOf, createObject, pathOf } from './instances/testing/bought';
import { RunningApi } from './testing/running-api';
import { Tenant } from './testing/tenant';

jest.setTimeout(60_000);

const cn = 'www.example.com';

let one: RunningApi;
let other: RunningApi;
beforeAll(async () => {
  const limits = { FAILED_AUTHENTICATION_PER_MIN: '1', TRUSTED_PROXIES: '127.0.0.1' };
  one = await RunningApi.start(limits);
  other = await RunningApi.start({
    ...limits,
    DATABASE_URL: one.database.urlOf('certs-v2'),
    ...one.redis.environment,
  });
});
afterAll(async () => {
  await other.stop();
  await one.stop();
});

/** The same account at both copies. */
async function atBoth(): Promise<[Tenant, Tenant]> {
  const tenant = await one.tenant();
  return [tenant, new Tenant(other, tenant.accountId, tenant.apiKey)];
}

it('make one purchase of a request with an Idempotency-Key that both get', async () => {
  const [here, there] = await atBoth();
  await createObject(here, cn);
  const buy = async (tenant: Tenant) =>
    await tenant.postForm(`${pathOf(cn)}/buy`, {}, { 'idempotency-key': 'k' });
  const first = await buy(here);
  const again = await buy(there);
  expect([again.status, again.text]).toEqual([first.status, first.text]);
  expect(again.headers['idempotency-replayed']).toBe('true');
  expect(await chargesOf(one, here)).toHaveLength(1);
});

it('make one purchase when both get a request at the same time', async () => {
  const [here, there] = await atBoth();
  await createObject(here, cn);
  const buys = [here, there, here, there].map(async (tenant) => await tenant.post(`${pathOf(cn)}/buy`));
  const statuses = (await Promise.all(buys)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(1);
  expect(await chargesOf(one, here)).toHaveLength(1);
});

it('answer long polls of both when the worker publishes the instance once', async () => {
  const [here, there] = await atBoth();
  await createObject(here, cn);
  const { id } = (await here.post(`${pathOf(cn)}/buy`)).json as { id: number };
  const quiet = { warn: () => undefined, info: () => undefined };
  const news = new IssuanceNews(one.redis.access, { name: 'spec', log: quiet });
  // Longer than the spec may take.
  const polls = [here, there].map(
    async (tenant) => await tenant.get(`${pathOf(cn)}/instances/${id}?poll=170`),
  );
  for (const { app } of [one, other])
    await eventually(() => expect(app.get(PendingInstances).count).toBe(1), { withinMs: 30_000 });
  const [open] = await one.database.query<{ id: string }>(
    `SELECT id FROM issuance WHERE account_id = $1 AND state = 'open'`,
    [here.accountId],
  );
  await activatePending(one, here, cn);
  news.publish(open?.id ?? '');
  for (const { status } of await Promise.all(polls)) expect(status).toBe(200);
  await news.close();
});

it('count wrong keys of an address together', async () => {
  const { accountId } = await one.tenant();
  let address = 0;
  const attempt = async (copy: RunningApi) =>
    await copy.call('GET', '/api/v2/certs', {
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
