import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import {
  type Child,
  eventually,
  startChild,
  type TestDatabase,
  testDatabase,
  type TestRedis,
  testRedis,
} from '@certwright/testing';

const workspaceRoot = path.join(__dirname, '../../../..');
const accounts = 5;
const plansEach = 200;
const webhooksEach = 2;

let database: TestDatabase;
let redis: TestRedis;

beforeAll(async () => {
  execFileSync(process.execPath, ['tools/build/build.mjs', 'apps/orders-v3'], { cwd: workspaceRoot });
  [database, redis] = await Promise.all([testDatabase(), testRedis()]);
}, 60_000);
afterAll(() => Promise.all([database.dispose(), redis.dispose()]));

/** Orders whose current certificate changed, in accounts with webhooks; without any wake-ups. */
beforeEach(async () => {
  await database.query(
    `INSERT INTO account (id, name) SELECT id, 'Spec' FROM generate_series(1, $1::int) AS id`,
    [accounts],
  );
  await database.query(
    `INSERT INTO webhook_endpoint (id, account_id, url, secret_sealed, description, enabled)
     SELECT account.id * 10 + number, account.id, 'https://hooks.example.com/', '', '', true
     FROM account CROSS JOIN generate_series(1, $1::int) AS number`,
    [webhooksEach],
  );
  await database.query(
    `WITH made AS (
       INSERT INTO plan (account_id, revision, auto_renew, muted, paused, download_token, current_version)
       SELECT account.id, 1, true, false, false, gen_random_uuid(), 1
       FROM account CROSS JOIN generate_series(1, $1::int) RETURNING id, account_id)
     INSERT INTO order_v3 (plan_id, account_id, name, dns_names, approver_emails, product, key_type)
     SELECT id, account_id, 'order ' || id, '{example.com}', '{}', 'free_ca', 'rsa' FROM made`,
    [plansEach],
  );
});

async function startCopy(): Promise<Child> {
  const args = [path.join(workspaceRoot, 'dist/apps/orders-v3/main.js')];
  const copy = await startChild(process.execPath, {
    args,
    env: {
      DATABASE_URL: database.urlOf('orders-v3'),
      ...redis.environment,
      PORT: '0',
      OPS_PORT: '0',
      SEALING_KEYS: randomBytes(32).toString('base64'),
    },
  });
  await copy.says(/"started"/, 30_000);
  return copy;
}

/** Counts of plans by their announced version and their stored deliveries. */
async function announcementCounts() {
  const [counts] = await database.query<{ announced: number; complete: number; half: number }>(
    `SELECT count(*) FILTER (WHERE announced_version = current_version)::int AS announced,
       count(*) FILTER (WHERE announced_version = current_version AND deliveries = $1)::int AS complete,
       count(*) FILTER (WHERE (announced_version = current_version) <> (deliveries = $1) OR deliveries NOT IN (0, $1))::int AS half
     FROM plan CROSS JOIN LATERAL (
       SELECT count(*) AS deliveries FROM webhook_delivery WHERE plan_id = plan.id) AS sent`,
    [webhooksEach],
  );
  return counts ?? { announced: -1, complete: -1, half: -1 };
}

it('puts one delivery per order, version and webhook on its way, however often a copy is killed and Redis is emptied', async () => {
  const all = accounts * plansEach;
  for (let kill = 0; kill < 2; kill += 1) {
    const copies = await Promise.all([startCopy(), startCopy()]);
    const before = (await announcementCounts()).announced;
    await redis.flush();
    await eventually(
      async () => {
        const { announced } = await announcementCounts();
        expect(announced > before || announced === all).toBe(true);
      },
      { everyMs: 5 },
    );
    for (const copy of copies) copy.signal('SIGKILL');
    await Promise.all(copies.map(({ ended }) => ended));
    expect((await announcementCounts()).half).toBe(0);
  }
  const last = await startCopy();
  await eventually(
    async () => expect(await announcementCounts()).toEqual({ announced: all, complete: all, half: 0 }),
    {
      withinMs: 30_000,
    },
  );
  expect((await last.stop()).code).toBe(0);
}, 120_000);
