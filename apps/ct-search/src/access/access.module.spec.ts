import { randomBytes } from 'node:crypto';
import { Problem } from '@certwright/errors';
import { disabledKeysChannel } from '@certwright/redis';
import {
  apiKeySha256,
  createLogger,
  defineSettings,
  Metrics,
  mintApiKey,
  Readiness,
  type RunningProcess,
} from '@certwright/service';
import {
  eventually,
  freePort,
  type TestDatabase,
  testDatabase,
  testRedis,
  type TestRedis,
} from '@certwright/testing';
import { accessSettings } from './access-settings';
import { openAccess } from './access.module';
import type { SearchAccess } from './search-access';

let database: TestDatabase;
let redis: TestRedis;
const closes: (() => unknown)[] = [];
beforeAll(async () => {
  [database, redis] = await Promise.all([testDatabase(), testRedis()]);
  // As an API or the worker does.
  await database.query(`INSERT INTO deployment (mode) VALUES ('sandbox')`);
});
afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close();
});
afterAll(async () => await Promise.all([database.dispose(), redis.dispose()]));

/** As the process opens it. */
function open(environment: Readonly<Record<string, string>> = {}) {
  const config = defineSettings(accessSettings).read({
    DATABASE_URL: database.urlOf('ct-search'),
    ...redis.environment,
    ...environment,
  });
  const readiness = new Readiness({ reuseMs: 0 });
  const running: RunningProcess = {
    name: 'spec',
    log: createLogger('spec', 'silent'),
    metrics: new Metrics('spec'),
    readiness,
    opened: (_name, close) => void closes.push(close),
  };
  return { access: openAccess(config, running), readiness };
}

let lastAccount = 100;
async function tenant(plan?: string): Promise<{ readonly accountId: string; readonly key: string }> {
  const accountId = String((lastAccount += 1));
  const key = mintApiKey(accountId, randomBytes);
  await database.query(`INSERT INTO account (id, name) VALUES ($1, 'Spec')`, [accountId]);
  await database.query(
    `INSERT INTO api_key (account_id, label, secret_sha256, permissions) VALUES ($1, 'spec', $2, '{Full Access}')`,
    [accountId, apiKeySha256(key)],
  );
  if (plan !== undefined)
    await database.query(`INSERT INTO search_subscription (account_id, plan) VALUES ($1, $2)`, [
      accountId,
      plan,
    ]);
  return { accountId, key };
}

const admit = async (access: SearchAccess, key: string) =>
  await access.admit({ authorization: `Bearer ${key}`, addressKey: '192.0.2.1' });
async function codeOf(admission: Promise<unknown>): Promise<string> {
  try {
    await admission;
    return 'admitted';
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return error.code;
  }
}

it('works while Redis is unavailable', async () => {
  const { access } = open({ REDIS_URL: `redis://127.0.0.1:${await freePort()}`, ANONYMOUS_PER_MIN: '2' });
  expect(await codeOf(admit(access, (await tenant()).key))).toBe('admitted');
  const anonymous = async () => await codeOf(access.admit({ addressKey: '192.0.2.1' }));
  expect([await anonymous(), await anonymous(), await anonymous()]).toEqual([
    'admitted',
    'admitted',
    'rate_limited',
  ]);
});

it('rejects only the API key that was disabled in the core database, as soon as it is', async () => {
  const { access } = open();
  const [lost, kept] = [await tenant('standard'), await tenant('standard')];
  expect(await codeOf(admit(access, lost.key))).toBe('admitted');
  await database.query(`UPDATE api_key SET disabled_at = now() WHERE account_id = $1`, [lost.accountId]);
  const publisher = redis.connect();
  const channel = disabledKeysChannel(redis.access);
  const data = { secretSha256: apiKeySha256(lost.key).toString('hex') };
  const news = JSON.stringify({ pattern: channel, data });
  // Earlier than the cached key expires, 10 s after it was first admitted.
  await eventually(
    async () => {
      await publisher.publish(channel, news);
      expect(await codeOf(admit(access, lost.key))).toBe('disabled_credentials');
    },
    { withinMs: 8_000, everyMs: 100 },
  );
  expect(await codeOf(admit(access, kept.key))).toBe('admitted');
});

it('applies the default plan to every account, and the subscribed plan to subscribers', async () => {
  const { access } = open();
  expect(await admit(access, (await tenant()).key)).toMatchObject({ timeLimitMs: 5_000, firehose: false });
  const streaming = await tenant('firehose');
  expect(await admit(access, streaming.key)).toMatchObject({
    accountId: streaming.accountId,
    timeLimitMs: 20_000,
    firehose: true,
  });
});

it('shares the limits of an address between processes', async () => {
  const few = { ANONYMOUS_SUBDOMAINS_PER_HOUR: '1' };
  const [one, other] = [open(few).access, open(few).access];
  const anonymous = { kind: 'anonymous', timeLimitMs: 1 } as const;
  // Until its connection is open, a process counts locally.
  await eventually(async () => {
    await redis.flush();
    await one.countAnonymous(anonymous, '192.0.2.9', 'subdomains');
    expect(await codeOf(other.countAnonymous(anonymous, '192.0.2.9', 'subdomains'))).toBe('rate_limited');
  });
});

it('returns service_outage while the core database is unavailable, but admits anonymous requests', async () => {
  const unreachable = new URL(database.url);
  unreachable.port = String(await freePort());
  const { access, readiness } = open({ DATABASE_URL: unreachable.href });
  await expect(admit(access, mintApiKey('1', randomBytes))).rejects.toMatchObject({
    code: 'service_outage',
    retryAfterS: 5,
  });
  expect(await access.admit({ addressKey: '192.0.2.1' })).toMatchObject({ kind: 'anonymous' });
  expect((await readiness.report()).checks).toEqual({
    'core database': 'failed',
    'core schema': 'ok',
    'redis prefix': 'ok',
  });
});
