import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { inspect } from 'node:util';
import { randomBytes } from 'node:crypto';
import { eventually } from '@certwright/testing';
import { DataSource } from 'typeorm';
import { RunningApi } from './testing/running-api';

const role = `spec_${randomBytes(6).toString('hex')}`;
const file = path.join(process.env['CERTWRIGHT_TEST_RUN'] ?? '', role);
const [first, second] = ['first-password', 'second-password'];

let api: RunningApi;
/** The address with the role's password. */
let urlWith: (password: string) => string;

beforeAll(async () => {
  // A role of the spec's own, with the grants of the process: other specs log in as that one.
  api = await RunningApi.start(async (databaseUrl, ownerUrl) => {
    const { Client } = await import('pg');
    const owner = new Client({ connectionString: ownerUrl });
    await owner.connect();
    await owner.query(
      `CREATE ROLE "${role}" LOGIN PASSWORD '${first}' IN ROLE "${new URL(databaseUrl).username}"`,
    );
    await owner.end();
    urlWith = (password) => {
      const url = new URL(databaseUrl);
      [url.username, url.password] = [role, password];
      return url.href;
    };
    await writeFile(file, `${urlWith(first)}\n`);
    return { DATABASE_URL: '', DATABASE_URL_FILE: file, DATABASE_POOL_SIZE: '2', LOG_LEVEL: 'info' };
  });
});
afterAll(async () => {
  await api.database.query(`ALTER ROLE "${role}" NOLOGIN`);
  const { query } = api.database;
  await query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1`, [role]);
  await query(`DROP ROLE "${role}"`);
  await api.stop();
  await rm(file, { force: true });
});

const sessions = async () =>
  (
    await api.database.query<{ pid: number }>(`SELECT pid FROM pg_stat_activity WHERE usename = $1`, [role])
  ).map(({ pid }) => pid);
const endSessions = async () =>
  await api.database.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1`, [
    role,
  ]);

it('logs in with a changed password without a restart, and keeps its connections until then', async () => {
  const tenant = await api.tenant();
  const get = async () => await tenant.get('/api/v3/orders');
  expect((await get()).status).toBe(200);
  const before = await sessions();

  await api.database.query(`ALTER ROLE "${role}" PASSWORD '${second}'`);
  expect((await get()).status).toBe(200);
  expect(before).toEqual(expect.arrayContaining(await sessions()));

  await endSessions();
  await eventually(async () => {
    const { status, headers, json } = await get();
    expect([status, (json as { code?: string }).code]).toEqual([503, 'service_outage']);
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
  });
  expect(await api.readiness.report()).toMatchObject({ degraded: ['database'] });
  // What the readiness check logs, once.
  const failure = async () =>
    (await api.app
      .get(DataSource)
      .query('SELECT 1')
      .catch((error: unknown) => error)) as Error;
  // Until then, the pool may have a connection whose end has not arrived.
  const expected = `password authentication failed for user "${role}"`;
  await eventually(async () => expect((await failure()).message).toBe(expected));
  const error = await failure();

  await writeFile(file, urlWith(second));
  await eventually(async () => expect((await get()).status).toBe(200));
  expect(await api.readiness.report()).not.toHaveProperty('degraded');
  const logged = api.logged.join('\n');
  for (const secret of [first, second]) expect(logged + inspect(error)).not.toContain(secret);
});
