import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { coreDataSource } from '../core-data-source';
import { CoreDatabaseFixture } from '@certwright/core-testing';
import { databaseOutage } from '@certwright/errors';
import { eventually } from '@certwright/testing';
import type { DataSource } from 'typeorm';
import { withinDatabaseTime } from './database-time';
import { preparingDriver } from './preparing-client';

let core: CoreDatabaseFixture;
beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
});
afterAll(async () => await core.close());

describe('a statement with parameters', () => {
  it('is prepared once per connection, however often it runs', async () => {
    const counts = await core.transactions.run(async (tx) => {
      const run = async (value: number) =>
        await tx.query<{ sum: number }[]>('SELECT $1::int + 1 AS sum', [value]);
      const sums = [await run(1), await run(2)].map(([row]) => row?.sum);
      const prepared = await tx.query<{ count: number }[]>(
        `SELECT count(*)::int AS count FROM pg_prepared_statements WHERE statement = 'SELECT $1::int + 1 AS sum'`,
      );
      return { sums, prepared: prepared[0]?.count };
    });
    // With TEST_POOLER=transaction, none is.
    const prepared = process.env['DATABASE_POOLER'] === 'transaction' ? 0 : 1;
    expect(counts).toEqual({ sums: [2, 3], prepared });
  });

  it('can be used again after it failed', async () => {
    const divide = async (by: number) =>
      await core.database.query<{ quotient: number }[]>('SELECT 6 / $1::int AS quotient', [by]);
    await expect(divide(0)).rejects.toThrow('division by zero');
    expect(await divide(2)).toEqual([{ quotient: 3 }]);
  });
});

describe('a server that no longer responds', () => {
  it('costs the statement, and not the connection’s place in the pool', async () => {
    const url = core.url;
    const database = coreDataSource({ url, applicationName: 'spec', poolSize: 1, statementTimeoutMs: 400 });
    await database.initialize();
    const [{ pid }] = await eventually(
      async () => await database.query<[{ pid: number }]>('SELECT pg_backend_pid() AS pid'),
    );
    process.kill(pid, 'SIGSTOP');
    try {
      const failure: unknown = await database
        .query('SELECT $1::int AS one', [1])
        .catch((error: unknown) => error);
      expect(databaseOutage(failure)).toMatchObject({ code: 'service_outage' });
      await eventually(async () =>
        expect(await database.query('SELECT $1::int AS one', [1])).toEqual([{ one: 1 }]),
      );
    } finally {
      process.kill(pid, 'SIGCONT');
      await database.destroy();
    }
  });
});

describe('a request whose time for the database is over', () => {
  /** Longer than any spec: only the time of the request ends a statement. */
  const statementTimeoutMs = 600_000;
  let database: DataSource;
  beforeEach(async () => {
    const { url } = core;
    database = coreDataSource({ url, applicationName: 'spec', poolSize: 1, statementTimeoutMs });
    await database.initialize();
  });
  afterEach(async () => await database.destroy());

  const pidOf = async () => {
    const [{ pid }] = await database.query<[{ pid: number }]>('SELECT pg_backend_pid() AS pid');
    return pid;
  };
  const errorOf = async (work: () => Promise<unknown>): Promise<unknown> =>
    await withinDatabaseTime(300, work).catch((error: unknown) => error);

  it('has its statement canceled, and the connection can be used again', async () => {
    const pid = await pidOf();
    const error = await errorOf(async () => await database.query('SELECT pg_sleep(600), $1::int', [1]));
    expect(databaseOutage(error)).toMatchObject({ code: 'service_outage' });
    expect(await pidOf()).toBe(pid);
  });

  it('leaves it to the server to close the connection of the cancel request, which PgBouncer 1.18 needs', async () => {
    const own = new URL(core.url);
    const { hostname, port } = own;
    const cancels: { endedFirst: boolean }[] = [];
    const link = createServer((client) => {
      const upstream = connect(Number(port), hostname);
      let endedFirst = false;
      client.once('end', () => (endedFirst = true));
      client.once('data', (first) => {
        if (first.length === 16) upstream.once('close', () => cancels.push({ endedFirst }));
      });
      client.on('error', () => undefined);
      client.pipe(upstream).pipe(client);
    });
    await new Promise<void>((resolve) => link.listen(0, '127.0.0.1', resolve));
    own.port = String((link.address() as AddressInfo).port);
    const linked = coreDataSource({
      url: own.href,
      applicationName: 'spec',
      poolSize: 1,
      statementTimeoutMs,
    });
    await linked.initialize();
    try {
      await errorOf(async () => await linked.query('SELECT pg_sleep(600), $1::int', [1]));
      await eventually(() => expect(cancels).toEqual([{ endedFirst: false }]));
    } finally {
      await linked.destroy();
      await new Promise((resolve) => link.close(resolve));
    }
  });

  it('has its transaction rolled back', async () => {
    const error = await errorOf(
      async () =>
        await database.transaction(async (tx) => {
          await tx.query(`INSERT INTO account (id, name) VALUES (815, 'rolled back')`);
          await tx.query('SELECT pg_sleep(600)');
        }),
    );
    expect(databaseOutage(error)).toMatchObject({ code: 'service_outage' });
    expect(await database.query('SELECT 1 FROM account WHERE id = 815')).toEqual([]);
    await core.database.query(`INSERT INTO account (id, name) VALUES (815, 'not locked')`);
  });

  it('waits no longer for a connection, which the next request gets', async () => {
    let release: () => void = () => undefined;
    let held: Promise<void> = Promise.resolve();
    await new Promise<void>((begun) => {
      held = database.transaction(async (tx) => {
        await tx.query('SELECT 1');
        begun();
        await new Promise<void>((resolve) => (release = resolve));
      });
    });
    const error = await errorOf(async () => await database.query('SELECT 1'));
    expect(databaseOutage(error)).toMatchObject({ code: 'service_outage' });
    release();
    await held;
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('is not affected by the time limit of the pool, which expires later', async () => {
    const { url } = core;
    const pool = new preparingDriver.Pool({ url, max: 1, connectionTimeoutMillis: 400 });
    const holder = await pool.connect();
    const errors: string[] = [];
    const connect = () => pool.connect((error) => errors.push(error?.message ?? 'none'));
    withinDatabaseTime(300, connect);
    connect();
    await eventually(() => expect(errors).toHaveLength(2));
    expect(errors).toEqual(Array(2).fill('timeout exceeded when trying to connect'));
    holder.release();
    await pool.end();
  });

  it('waits no longer for a server that froze', async () => {
    const pid = await pidOf();
    process.kill(pid, 'SIGSTOP');
    try {
      const error = await errorOf(async () => await database.query('SELECT $1::int AS one', [1]));
      expect(databaseOutage(error)).toMatchObject({ code: 'service_outage' });
      expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  });
});

describe('a commit that waits for a synchronous replica', () => {
  const replicas = async (change: string) => {
    await core.database.query(`ALTER SYSTEM ${change}`);
    await core.database.query('SELECT pg_reload_conf()');
  };
  let database: DataSource;
  beforeAll(async () => {
    const { url } = core;
    const name = new URL(url).pathname.slice(1);
    await core.database.query(`ALTER DATABASE "${name}" SET synchronous_commit = on`);
    await replicas(`SET synchronous_standby_names = 'cut_off'`);
    // A pooler keeps sessions, which have the former setting.
    await core.database
      .query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()')
      .catch(() => undefined);
    database = coreDataSource({ url, applicationName: 'spec', poolSize: 1, statementTimeoutMs: 60_000 });
    await database.initialize();
  });
  afterAll(async () => {
    await replicas('RESET synchronous_standby_names');
    await database.destroy();
  });

  const outcomeOf = async (work: () => Promise<unknown>): Promise<unknown> =>
    await withinDatabaseTime(500, work).then(
      () => 'done',
      (error: unknown) => databaseOutage(error)?.code,
    );

  it('is not ended when the time of its request is over: a fail-over could lose it', async () => {
    const outcome = await outcomeOf(
      async () =>
        await database.transaction(
          async (tx) => await tx.query(`INSERT INTO account (id, name) VALUES ($1, 'waits')`, [817]),
        ),
    );
    expect(outcome).toBe('service_outage');
    expect(await core.database.query('SELECT 1 FROM account WHERE id = 817')).toEqual([]);
  });

  it.each([
    [`INSERT INTO account (id, name) VALUES ($1, 'waits')`, [818]],
    [`INSERT INTO account (id, name) VALUES (819, 'waits')`, undefined],
  ])('is not reported as done where %s is not in a transaction', async (text, values) => {
    expect(await outcomeOf(async () => await database.query(text, values))).toBe('service_outage');
  });

  it('is not reported as done if the server is known to have processed the cancel request before', async () => {
    const { database: slow, close } = await behindLink({ first: () => 0, response: 200 });
    await slow.initialize();
    try {
      const insert = async () => await slow.query(`INSERT INTO account (id, name) VALUES (820, 'waits')`);
      expect(await outcomeOf(insert)).toBe('service_outage');
    } finally {
      await close();
    }
  });

  it('that is given up is followed by no other, which would take another connection, until the replica is back', async () => {
    const waiting = async () => {
      const [row] = await core.database.query<{ count: number }[]>(
        `SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event = 'SyncRep'
           AND datname = current_database() AND query_start < clock_timestamp() - interval '1 second'`,
      );
      return row?.count ?? 0;
    };
    const write = async (id: number) =>
      await database.transaction(
        async (tx) => await tx.query(`INSERT INTO account (id, name) VALUES ($1, 'waits')`, [id]),
      );
    expect(await outcomeOf(async () => await write(821))).toBe('service_outage');
    await pause(1_100);
    const during = await waiting();
    expect(during).toBeGreaterThan(0);
    expect(await outcomeOf(async () => await write(822))).toBe('service_outage');
    await pause(1_100);
    expect(await waiting()).toBe(during);
    await replicas('RESET synchronous_standby_names');
    await eventually(async () => await write(823));
    expect(await core.database.query('SELECT id FROM account WHERE id > 821')).toEqual([{ id: '823' }]);
  });
});

/** Database behind a link that delays what the client begins a connection with, or every response. */
async function behindLink(delayMs: { first(message: Buffer): number; readonly response: number }) {
  const own = new URL(core.url);
  const { hostname, port } = own;
  const link = createServer((client) => {
    client.on('error', () => undefined);
    client.once('data', (first) => {
      client.pause();
      setTimeout(() => {
        const upstream = connect(Number(port), hostname).on('error', () => undefined);
        upstream.write(first);
        client.pipe(upstream);
        upstream.on('data', (data) => setTimeout(() => client.write(data), delayMs.response));
        upstream.on('end', () => client.end());
      }, delayMs.first(first));
    });
  });
  await new Promise<void>((resolve) => link.listen(0, '127.0.0.1', resolve));
  own.port = String((link.address() as AddressInfo).port);
  const settings = { applicationName: 'spec', poolSize: 1, statementTimeoutMs: 60_000 };
  const database = coreDataSource({ url: own.href, ...settings });
  const close = async () => {
    await database.destroy();
    await new Promise((resolve) => link.close(resolve));
  };
  return { database, close };
}

describe('a cancel request that the server receives late', () => {
  it('ends no statement of a later request', async () => {
    const { database, close } = await behindLink({
      first: ({ length }) => (length === 16 ? 400 : 0),
      response: 0,
    });
    await database.initialize();
    try {
      // Ends by itself after its time is over, and before the cancel request arrives.
      await withinDatabaseTime(300, async () => await database.query('SELECT pg_sleep(0.5), $1::int', [1]));
      const later = database.query('SELECT $1::int AS one, pg_sleep(1)', [1]);
      expect(await later).toMatchObject([{ one: 1 }]);
    } finally {
      await close();
    }
  });
});
