import path from 'node:path';
import { databaseOutage } from '@certwright/errors';
import { DatabasePool, type DatabasePooler } from '@certwright/postgres';
import { eventually, freePort, testDatabase, type TestDatabase } from '@certwright/testing';
import { Client } from 'pg';
import type { DataSource } from 'typeorm';
import { coreDataSource } from '../core-data-source';

const workspaceRoot = path.join(__dirname, '../../../..');

interface Pgbouncer {
  readonly port: number;
  readonly stop: () => Promise<void>;
}

interface Embedded {
  pgbouncerBinary(): string | undefined;
  startPgbouncer(options: object): Promise<Pgbouncer>;
}

let embedded: Embedded;
let database: TestDatabase;
const closes: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  embedded = (await import(path.join(workspaceRoot, 'tools/embedded/pgbouncer.mjs'))) as Embedded;
});
beforeEach(async () => {
  database = await testDatabase();
});
afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close();
  await database.dispose();
});

/** Passwords and port of the database itself, also if the run has a pooler. */
async function direct(): Promise<URL> {
  const url = new URL(database.url);
  const [row] = await database.query<{ port: number }>(`SELECT inet_server_port() AS port`);
  url.port = String(row?.port);
  return url;
}

interface Pooled {
  readonly url: string;
  readonly stop: () => Promise<void>;
  /** A command of its console. */
  readonly command: (text: string) => Promise<unknown>;
}

/** A PgBouncer of the spec's own. */
async function pooled(
  settings: Readonly<Record<string, string | number>> = {},
  postgresPort?: number,
): Promise<Pooled> {
  const url = await direct();
  const [user, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  const server = await embedded.startPgbouncer({
    binary: embedded.pgbouncerBinary(),
    folder: path.join(process.env['CERTWRIGHT_TEST_RUN'] ?? '', `pgbouncer-${process.pid}-${closes.length}`),
    postgresPort: postgresPort ?? Number(url.port),
    passwords: { [user]: password, unknown: 'to PostgreSQL' },
    settings: { default_pool_size: 1, query_wait_timeout: 1, ...settings },
  });
  closes.push(server.stop);
  url.port = String(server.port);
  const command = async (text: string) => {
    const console = new URL(url);
    console.pathname = '/pgbouncer';
    const client = new Client({ connectionString: console.href });
    await client.connect();
    const result = await client.query(text);
    await client.end();
    return result.rows;
  };
  return { url: url.href, stop: server.stop, command };
}

async function source(url: string, pooler: DatabasePooler = 'transaction'): Promise<DataSource> {
  const limits = { statementTimeoutMs: 4_000 };
  const opened = coreDataSource({ url, pooler, applicationName: 'spec', poolSize: 3, ...limits });
  await opened.initialize();
  closes.push(async () => await opened.destroy());
  return opened;
}

const outage = { code: 'service_outage' };
const problemOf = async (work: () => Promise<unknown>) =>
  databaseOutage(
    await work().then(
      () => new Error('no error'),
      (error: unknown) => error,
    ),
  );

async function installed(): Promise<boolean> {
  const { pgbouncerBinary } = (await import(
    path.join(workspaceRoot, 'tools/embedded/pgbouncer.mjs')
  )) as Embedded;
  return pgbouncerBinary() !== undefined;
}

/** As in specs of other programs: skipped, with its name, where the program is missing. */
const itWithPooler = (name: string, work: () => Promise<void>) =>
  it(`${name} (PgBouncer)`, async () => {
    if (await installed()) await work();
    else console.log(`skipped, PgBouncer is not installed: ${name}`);
  });

describe('behind a pooler in transaction mode', () => {
  itWithPooler('statements of one connection run in several sessions', async () => {
    const { url } = await pooled({ default_pool_size: 5 });
    const spec = await source(url);
    const sum = async (value: number) =>
      (await spec.query<{ sum: number }[]>('SELECT $1::int + 1 AS sum, pg_sleep(0.01)', [value]))[0]?.sum;
    const sums = await Promise.all(Array.from({ length: 40 }, async (_, at) => await sum(at)));
    expect(sums).toEqual(Array.from({ length: 40 }, (_, at) => at + 1));
  });

  itWithPooler('settings of a read apply to its transaction alone', async () => {
    const { url } = await pooled();
    const pool = new DatabasePool({
      url,
      pooler: 'transaction',
      session: { statement_timeout: 1_234, enable_seqscan: 'off' },
    });
    closes.push(async () => await pool.end());
    const values = `SELECT current_setting('statement_timeout') AS timeout, current_setting('enable_seqscan') AS scan`;
    const { rows } = await pool.readOnce(() => ({ text: values }));
    expect(rows).toEqual([{ timeout: '1234ms', scan: 'off' }]);
    await expect(pool.readOnce(() => ({ text: 'CREATE TABLE x ()' }))).rejects.toMatchObject({
      code: '25006',
    });
    await expect(pool.readOnce(() => ({ text: 'SELECT pg_sleep(60)' }))).rejects.toMatchObject({
      code: '57014',
    });
    expect((await pool.query(values)).rows).toEqual([{ timeout: '0', scan: 'on' }]);
  });

  itWithPooler('the session of a server that has become a standby is dropped', async () => {
    // Otherwise PgBouncer drops it by itself after a while.
    const { url } = await pooled({ server_idle_timeout: 600 });
    const spec = await source(url);
    const pidOf = async () => (await spec.query<{ pid: number }[]>('SELECT pg_backend_pid() AS pid'))[0]?.pid;
    const before = await pidOf();
    // What a client sees whose server was demoted.
    await spec.query('SET default_transaction_read_only = on');
    await expect(spec.query('CREATE TABLE written ()')).rejects.toMatchObject({ code: '25006' });
    // By chance, PgBouncer drops it some time later without our help.
    let attempts = 0;
    const write = async () => {
      attempts += 1;
      await spec.query('CREATE TABLE IF NOT EXISTS written ()');
    };
    await eventually(write);
    expect(attempts).toBeLessThan(4);
    expect(await pidOf()).not.toBe(before);
    await spec.query('SET default_transaction_read_only = on');
    const written = spec.transaction(async (tx) => await tx.query('CREATE TABLE more ()'));
    await expect(written).rejects.toMatchObject({ code: '25006' });
    attempts = 0;
    await eventually(write);
    expect(attempts).toBeLessThan(4);
  });

  itWithPooler('what the pooler rejects is an outage, and is over with its cause', async () => {
    const { url, command } = await pooled();
    const spec = await source(url);
    const name = new URL(url).pathname.slice(1);
    await command(`PAUSE "${name}"`);
    expect(await problemOf(async () => await spec.query('SELECT 1'))).toMatchObject(outage);
    await command(`RESUME "${name}"`);
    expect(await spec.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await command('RECONNECT');
    await command('RELOAD');
    expect(await spec.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await command(`KILL "${name}"`);
    expect(await problemOf(async () => await spec.query('SELECT 1'))).toMatchObject(outage);
    await command(`RESUME "${name}"`);
    await eventually(async () => expect(await spec.query('SELECT 1 AS one')).toEqual([{ one: 1 }]));
  });

  itWithPooler('a pooler that stops is an outage', async () => {
    const { url, stop } = await pooled();
    const spec = await source(url);
    const slept = problemOf(async () => await spec.query('SELECT pg_sleep(60)'));
    await eventually(async () =>
      expect(
        await database.query(`SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'`),
      ).not.toHaveLength(0),
    );
    await stop();
    expect(await slept).toMatchObject(outage);
    expect(await problemOf(async () => await spec.query('SELECT 1'))).toMatchObject(outage);
  });

  itWithPooler('a queue for the only session is an outage', async () => {
    const { url } = await pooled();
    const spec = await source(url);
    await spec.transaction(async (tx) => {
      await tx.query('SELECT 1');
      expect(await problemOf(async () => await spec.query('SELECT 1'))).toMatchObject(outage);
    });
    expect(await spec.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  itWithPooler('too many clients are an outage', async () => {
    const { url } = await pooled({ max_client_conn: 2 });
    const first = await source(url);
    const problems = Array.from(
      { length: 3 },
      async () => await problemOf(async () => await first.query('SELECT pg_sleep(0.2)')),
    );
    expect(await Promise.all(problems)).toContainEqual(expect.objectContaining(outage));
  });

  itWithPooler('logins that fail are an outage', async () => {
    const nowhere = await pooled({}, await freePort());
    expect(await problemOf(async () => await source(nowhere.url))).toMatchObject(outage);
    // The second one is rejected by server_login_retry.
    expect(await problemOf(async () => await source(nowhere.url))).toMatchObject(outage);
    const { url } = await pooled();
    const changed = (change: (own: URL) => void) => {
      const own = new URL(url);
      change(own);
      return own.href;
    };
    for (const wrong of [
      changed((own) => (own.password = 'wrong')),
      changed((own) => (own.pathname = '/none')),
      changed((own) => (own.username = 'none')),
      changed((own) => ([own.username, own.password] = ['unknown', encodeURIComponent('to PostgreSQL')])),
    ])
      expect(await problemOf(async () => await source(wrong))).toMatchObject(outage);
  });
});
