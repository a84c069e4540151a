import { IssuanceNews } from '@certwright/redis';
import { eventually } from '@certwright/testing';
import { countWrongKeysTogether, startTwoCopies } from '@certwright/core-testing';
import { PendingInstances } from './instances/pending-instances';
import { activatePending, chargesOf, createObject, pathOf } from './instances/testing/bought';
import { RunningApi } from './testing/running-api';
import { Tenant } from './testing/tenant';

jest.setTimeout(60_000);

const cn = 'www.example.com';

let one: RunningApi;
let other: RunningApi;
beforeAll(async () => void ([one, other] = await startTwoCopies('certs-v2', RunningApi.start)));
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
  await countWrongKeysTogether([one, other], accountId, '/api/v2/certs');
});
