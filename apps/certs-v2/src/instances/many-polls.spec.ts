import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { IssuanceNews } from '@certwright/redis';
import {
  type Child,
  eventually,
  severableLink,
  type SeverableLink,
  testRedis,
  type TestRedis,
} from '@certwright/testing';
import { RunningApi, type Tenant } from '../testing/running-api';
import { createObject, pathOf } from './testing/bought';
import { resultOf, startClients } from './testing/many-clients';
import { PendingInstances } from './pending-instances';

/** Enough to notice one connection or one query per client. */
const few = 400;
const many = 2_000;
const accounts = 20;
const cn = 'www.example.com';
const quiet = { warn: () => undefined, info: () => undefined };

let redis: TestRedis;
let link: SeverableLink;
let api: RunningApi;
let news: IssuanceNews;
let tenants: Tenant[];
let requests: { path: string; apiKey: string }[];

jest.setTimeout(180_000);

/** The clients of the spec that runs. */
let child: Child;

beforeAll(async () => {
  redis = await testRedis();
  const real = new URL(redis.url);
  link = await severableLink({ host: real.hostname, port: Number(real.port) });
  const severable = new URL(redis.url);
  severable.port = String(link.port);
  api = await RunningApi.start({ DATABASE_POOL_SIZE: '2', ...redis.environment, REDIS_URL: severable.href });
  news = new IssuanceNews(redis.access, { name: 'spec', log: quiet });
});
beforeEach(async () => {
  tenants = [];
  requests = [];
  for (let account = 0; account < accounts; account += 1) {
    const tenant = await api.tenant();
    await createObject(tenant, cn);
    const { id } = (await tenant.post(`${pathOf(cn)}/buy`)).json;
    const path = `${pathOf(cn)}/instances/${id}?poll=180&expand=crt&expand=chain`;
    requests.push({ path, apiKey: tenant.apiKey });
    tenants.push(tenant);
  }
});
afterEach(async () => {
  child.signal('SIGKILL');
  await eventually(() => expect(waiting()).toBe(0), { withinMs: 30_000 });
});
afterAll(async () => {
  await news.close();
  await api.stop();
  await link.close();
  await redis.dispose();
});

const waiting = () => api.app.get(PendingInstances).count;

/** Bytes in use after a garbage collection. */
function memory(): { heap: number; outside: number } {
  setFlagsFromString('--expose_gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return { heap: heapUsed, outside: external };
}

/** All of them are canceled in one statement. @returns their ids */
async function closeAll(): Promise<string[]> {
  const rows = await api.database.query<{ id: string }>(
    `UPDATE issuance SET state = 'canceled', closed_at = now() WHERE account_id = ANY ($1::bigint[]) AND state = 'open'
     RETURNING id`,
    [tenants.map(({ accountId }) => accountId)],
  );
  return rows.map(({ id }) => id);
}

const connections = async () => {
  const [row] = await api.database.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name = 'certs-v2'
       AND datname = current_database() AND state <> 'idle'`,
  );
  return row?.count;
};

async function allWait(clients: number) {
  const before = memory();
  child = await startClients({
    host: '127.0.0.1',
    port: Number(new URL(api.url).port),
    requests: requests.map((each) => ({ ...each, times: clients / accounts })),
  });
  const begun = performance.now();
  await eventually(() => expect(waiting()).toBe(clients), { withinMs: 120_000 });
  const tookMs = performance.now() - begun;
  const after = memory();
  const perClient = Math.round((after.heap + after.outside - before.heap - before.outside) / clients);
  process.stdout.write(
    `${clients} clients waited after ${Math.round(tookMs)} ms; ${perClient} bytes of memory each, sockets included\n`,
  );
  return perClient;
}

/** Other requests are served while clients wait. */
async function othersAreServed() {
  const begun = performance.now();
  expect((await tenants[0]?.get(pathOf(cn)))?.status).toBe(200);
  return Math.round(performance.now() - begun);
}

it('2,000 clients wait without a connection to the database, and get a response after one UPDATE and its news', async () => {
  const perClient = await allWait(many);
  expect(perClient).toBeLessThan(64 * 1024);
  await eventually(async () => expect(await connections()).toBe(0));
  process.stdout.write(`meanwhile another request took ${await othersAreServed()} ms\n`);
  const begun = performance.now();
  for (const id of await closeAll()) news.publish(id);
  const { responses, spanMs } = await resultOf(child, 60_000);
  process.stdout.write(
    `all got a response ${Math.round(performance.now() - begun)} ms after the UPDATE, within ${Math.round(spanMs)} ms\n`,
  );
  expect(responses).toEqual({ '200 canceled': many });
  expect(waiting()).toBe(0);
});

it('400 clients get a response from the periodic lookup while Redis is unavailable', async () => {
  link.cut();
  try {
    await allWait(few);
    process.stdout.write(`meanwhile another request took ${await othersAreServed()} ms\n`);
    const begun = performance.now();
    await closeAll();
    const { responses, spanMs } = await resultOf(child, 60_000);
    process.stdout.write(
      `without Redis all got a response ${Math.round(performance.now() - begun)} ms after the UPDATE, within ${Math.round(spanMs)} ms\n`,
    );
    expect(responses).toEqual({ '200 canceled': few });
  } finally {
    link.restore();
  }
});

it('400 clients that disconnect leave nothing behind', async () => {
  await allWait(few);
  child.signal('SIGKILL');
  await eventually(() => expect(waiting()).toBe(0), { withinMs: 30_000 });
});
