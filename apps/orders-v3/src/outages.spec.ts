import { randomBytes } from 'node:crypto';
import { BlockedKeys } from '@certwright/ordering';
import { claimDeployment } from '@certwright/core-schema';
import { disabledKeysChannel } from '@certwright/redis';
import { apiKeySha256 } from '@certwright/service';
import { eventually, freePort, type SeverableLink, severableLink } from '@certwright/testing';
import { deliveriesOf } from '@certwright/core-testing';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { certificateRequest, keyPair } from './testing/certificate-request';
import { changeCurrent } from './testing/current-certificate';
import { RunningApi } from './testing/running-api';

const csr = certificateRequest(keyPair('p256'), { dnsNames: ['example.com'] });
const order = (name: string) => ({ name, dns_names: ['example.com'], csr });

describe('while the database is unavailable', () => {
  let link: SeverableLink;
  let api: RunningApi;

  beforeAll(async () => {
    api = await RunningApi.start(async (databaseUrl) => {
      const url = new URL(databaseUrl);
      link = await severableLink({ host: url.hostname, port: Number(url.port) });
      url.port = String(link.port);
      return { DATABASE_URL: url.href };
    });
  });
  afterAll(async () => {
    await api.stop();
    await link.close();
  });

  it('returns 503 service_outage with Retry-After, stays ready to say so, and recovers by itself', async () => {
    const tenant = await api.tenant();
    expect((await tenant.post('/api/v3/orders', order('before'))).status).toBe(201);
    expect((await api.readiness.report()).ready).toBe(true);

    link.cut();
    for (const response of [
      await tenant.post('/api/v3/orders', order('during')),
      await tenant.get('/api/v3/orders/before'),
      await tenant.delete('/api/v3/orders/before'),
      await api.call('GET', `/download/${'A'.repeat(27)}`),
    ]) {
      expect(response).toMatchObject({ status: 503, json: { code: 'service_outage' } });
      expect(Number(response.headers['retry-after'])).toBeGreaterThan(0);
    }
    expect(await api.readiness.report()).toMatchObject({
      ready: true,
      degraded: ['database'],
      checks: { database: 'failed' },
    });
    expect((await api.call('GET', '/readyz')).status).toBe(200);

    link.restore();
    await eventually(async () =>
      expect((await tenant.post('/api/v3/orders', order('after'))).status).toBe(201),
    );
    expect((await api.call('GET', '/readyz')).status).toBe(200);
    expect((await tenant.get('/api/v3/orders/before')).status).toBe(200);
  });
});

describe('while a table is locked', () => {
  it('returns 503 when the time for the database is over, and the POST can be repeated', async () => {
    // Only the time of the request ends a wait here.
    const api = await RunningApi.start({ DATABASE_TIME: '300ms', STATEMENT_TIMEOUT: '10m' });
    const tenant = await api.tenant();
    // On a busy machine 300 ms may be too short.
    const stored = async (name: string) =>
      await eventually(async () => {
        const { status } = await tenant.post('/api/v3/orders', order(name), { 'idempotency-key': name });
        expect(status).toBe(201);
      });
    await stored('before');
    const locker = new Client({ connectionString: api.database.url });
    await locker.connect();
    await locker.query('BEGIN; LOCK TABLE order_v3 IN ACCESS EXCLUSIVE MODE');
    const repeated = { 'idempotency-key': 'during' };
    const responses = await Promise.all([
      tenant.post('/api/v3/orders', order('during'), repeated),
      ...Array.from({ length: 30 }, async () => await tenant.get('/api/v3/orders/before')),
    ]);
    for (const response of responses) {
      expect(response).toMatchObject({ status: 503, json: { code: 'service_outage' } });
      expect(Number(response.headers['retry-after'])).toBeGreaterThan(0);
    }
    await locker.query('COMMIT');
    await locker.end();
    await eventually(async () => expect((await tenant.get('/api/v3/orders/before')).status).toBe(200));
    await stored('during');
    await api.stop();
  }, 60_000);
});

it('returns 503 to a POST whose time ends at any of its statements', async () => {
  const api = await RunningApi.start({ DATABASE_TIME: '300ms', STATEMENT_TIMEOUT: '10m' });
  const tenant = await api.tenant();
  const locker = new Client({ connectionString: api.database.url });
  await locker.connect();
  for (const table of ['plan', 'terms', 'delegation', 'web_rule', 'order_v3', 'issuance', 'outbox']) {
    await locker.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
    const { status, json } = await tenant.post('/api/v3/orders', order('mine'));
    expect({ table, status, code: json.code }).toEqual({ table, status: 503, code: 'service_outage' });
    await locker.query('COMMIT');
  }
  await locker.end();
  expect((await tenant.get('/api/v3/orders')).json).toEqual([]);
  await api.stop();
}, 60_000);

describe('more writes than can be stored', () => {
  it('get 503 with Retry-After, while reads succeed', async () => {
    const api = await RunningApi.start({ WRITE_CONNECTIONS: '1', DATABASE_TIME: '60s' });
    const tenant = await api.tenant();
    await tenant.post('/api/v3/orders', order('before'));
    const locker = new Client({ connectionString: api.database.url });
    await locker.connect();
    // Nothing can be stored, everything can be read.
    await locker.query('BEGIN; LOCK TABLE order_v3 IN EXCLUSIVE MODE');
    const refused: number[] = [];
    const posts = Array.from({ length: 60 }, async (_, each) => {
      const { status, headers, json } = await tenant.post('/api/v3/orders', order(`order ${each}`));
      if (status === 503) {
        expect(json).toMatchObject({ code: 'service_outage' });
        refused.push(Number(headers['retry-after']));
      }
      return status;
    });
    await eventually(() => expect(refused.length).toBeGreaterThan(20));
    for (let each = 0; each < 5; each += 1) {
      expect((await tenant.get('/api/v3/orders/before')).status).toBe(200);
    }
    await locker.query('COMMIT');
    await locker.end();
    const statuses = await Promise.all(posts);
    expect(new Set(statuses)).toEqual(new Set([201, 503]));
    expect(new Set(refused)).toEqual(new Set([1]));
    expect((await tenant.post('/api/v3/orders', order('after'))).status).toBe(201);
    await api.stop();
  }, 90_000);
});

describe('while Redis is unavailable', () => {
  it('starts and serves, limits included', async () => {
    const port = await freePort();
    const api = await RunningApi.start({ REDIS_URL: `redis://127.0.0.1:${port}`, WRITES_PER_S: '1' });
    const tenant = await api.tenant();
    const statuses = new Set<number>();
    for (let count = 0; count < 6; count += 1) {
      statuses.add((await tenant.post('/api/v3/orders', order(`order ${count}`))).status);
    }
    expect([...statuses]).toEqual([201, 429]);
    expect((await tenant.get('/api/v3/orders')).json).toHaveLength(4);
    await api.stop();
  }, 20_000);

  it('still notifies webhooks of a new certificate', async () => {
    const port = await freePort();
    const api = await RunningApi.start({ REDIS_URL: `redis://127.0.0.1:${port}` });
    const tenant = await api.tenant('Full Access');
    await tenant.post('/api/v3/orders', order('mine'));
    await tenant.post('/api/v3/account/webhooks', { url: 'https://hooks.example.com/' });
    await changeCurrent(api, tenant, 'mine');
    await eventually(async () =>
      expect(await deliveriesOf(api, tenant)).toMatchObject([{ state: 'pending', version: 1 }]),
    );
    await api.stop();
  }, 20_000);
});

describe('a Redis prefix of another deployment', () => {
  it('is not used: the copy is not ready, and nothing of it is in Redis', async () => {
    const api = await RunningApi.start();
    const redis = api.redis.connect();
    const claim = `${api.redis.prefix}:deployment`;
    await eventually(async () => expect(await redis.exists(claim)).toBe(1));
    const [database] = / db=\d+ /.exec(String(await redis.client('INFO'))) ?? [' none '];
    // Other specs use other databases of the same Redis.
    const connections = async () =>
      String(await redis.client('LIST'))
        .split('\n')
        .filter((line) => line.includes(' name=orders-v3') && line.includes(database));
    const before = await eventually(async () => {
      const own = await connections();
      expect(own.join('\n')).toContain('orders-v3-limits');
      expect(own.join('\n')).toContain('orders-v3-disabled-keys');
      // The connection that it opens last: it waits for jobs.
      expect(own.join('\n')).toContain('cmd=bzpopmin');
      return own;
    });
    const refused = await RunningApi.start({
      ...api.redis.environment,
      LOG_LEVEL: 'error',
      WRITES_PER_S: '1',
    });
    await eventually(async () =>
      expect(await refused.readiness.report()).toMatchObject({
        ready: false,
        checks: { 'redis prefix': 'failed' },
      }),
    );
    expect(refused.logged.join('')).toMatch(/REDIS_PREFIX.*REDIS_URL/);
    const tenant = await refused.tenant();
    expect((await tenant.post('/api/v3/orders', order('mine'))).status).toBe(201);
    // One connection more, which has read the claim.
    expect(await connections()).toHaveLength(before.length + 1);
    expect(await redis.keys(`*${tenant.accountId}*`)).toEqual([]);
    expect(await redis.get(claim)).toMatch(/^sandbox:/);
    expect((await api.readiness.report()).ready).toBe(true);
    await refused.stop();
    await api.stop();
  }, 30_000);
});

describe('limits', () => {
  it('count reads and writes of each API key apart', async () => {
    const api = await RunningApi.start({ WRITES_PER_S: '1', READS_PER_S: '1' });
    const [one, other] = [await api.tenant(), await api.tenant()];
    const reads: number[] = [];
    for (let count = 0; count < 4; count += 1) reads.push((await one.get('/api/v3/orders')).status);
    const refused = await one.get('/api/v3/orders');

    expect(reads.slice(0, 2)).toEqual([200, 200]);
    expect(refused).toMatchObject({ status: 429, json: { code: 'rate_limited' } });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await one.post('/api/v3/orders', order('mine'))).status).toBe(201);
    expect((await other.get('/api/v3/orders')).status).toBe(200);
    await api.stop();
  });
});

describe('a disabled API key', () => {
  it('stops working as soon as its news arrives', async () => {
    const api = await RunningApi.start();
    const tenant = await api.tenant();
    const publisher = api.redis.connect();
    expect((await tenant.get('/api/v3/orders')).status).toBe(200);
    await api.database.query(`UPDATE api_key SET disabled_at = now() WHERE account_id = $1`, [
      tenant.accountId,
    ]);
    const secretSha256 = apiKeySha256(tenant.apiKey).toString('hex');
    const channel = disabledKeysChannel(api.redis.access);
    const news = JSON.stringify({ pattern: channel, data: { secretSha256 } });

    await eventually(async () => {
      await publisher.publish(channel, news);
      expect((await tenant.get('/api/v3/orders')).json).toMatchObject({ code: 'disabled_credentials' });
    });
    await api.stop();
  });
});

describe('CERTWRIGHT_MODE', () => {
  it('refuses to start on a database of the other mode', async () => {
    const elsewhere = RunningApi.start(async (databaseUrl) => {
      const database = await new DataSource({ type: 'postgres', url: databaseUrl }).initialize();
      await claimDeployment(database, 'production');
      await database.destroy();
      return { CERTWRIGHT_MODE: 'sandbox' };
    });
    await expect(elsewhere).rejects.toThrow(/belongs to a production deployment/);
  });

  it('production: warns at the start when no list of blocked keys is loaded, and only then', async () => {
    const message = 'no list of blocked keys loaded';
    const without = await RunningApi.start({ CERTWRIGHT_MODE: 'production', LOG_LEVEL: 'warn' });
    expect(without.logged.filter((line) => line.includes(message))).toHaveLength(1);
    await without.stop();
    const loaded = await RunningApi.start(async (databaseUrl) => {
      const database = await new DataSource({ type: 'postgres', url: databaseUrl }).initialize();
      await new BlockedKeys(database).add([randomBytes(32)], 'a list');
      await database.destroy();
      return { CERTWRIGHT_MODE: 'production', LOG_LEVEL: 'warn' };
    });
    expect(loaded.logged.join('')).not.toContain(message);
    await loaded.stop();
    const sandbox = await RunningApi.start({ LOG_LEVEL: 'warn' });
    expect(sandbox.logged.join('')).not.toContain(message);
    await sandbox.stop();
  });
});
