import type { EventEmitter } from 'node:events';
import { eventually, type SeverableLink, severableLink, testDatabase } from '@certwright/testing';
import { DatabasePool } from './database-pool';

let database: Awaited<ReturnType<typeof testDatabase>>;
let link: SeverableLink;
let pool: DatabasePool;

beforeEach(async () => {
  database = await testDatabase();
  const url = new URL(database.url);
  link = await severableLink({ host: url.hostname, port: Number(url.port) });
  url.host = `127.0.0.1:${link.port}`;
  pool = new DatabasePool({ url: url.href, max: 1 });
});
afterEach(async () => {
  await pool.end();
  await link.close();
  await database.dispose();
});

const one = async () => (await pool.query<{ one: number }>('SELECT 1 AS one')).rows;

/** Ends the session from the server's side, as an immediate shutdown does. */
async function terminate(): Promise<void> {
  await database.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
}

describe.each([
  ['the server ends it', async () => await terminate()],
  ['its network connection is cut', async () => await Promise.resolve(link.cut())],
])('a connection that is lost when %s', (_how, lose) => {
  it('rejects the statement under way', async () => {
    const client = await pool.connect();
    const slept = client.query('SELECT pg_sleep(60)').catch((error: unknown) => error);
    await eventually(async () => {
      const asleep = await database.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`,
      );
      expect(asleep).toHaveLength(1);
    });
    await lose();
    expect(await slept).toBeInstanceOf(Error);
    client.release(true);
    link.restore();
    expect(await one()).toEqual([{ one: 1 }]);
  });

  it('rejects the next statement on a checked-out connection', async () => {
    const client = await pool.connect();
    const ended = new Promise((resolve) => client.once('end', resolve));
    await lose();
    await ended;
    await expect(client.query('SELECT 1')).rejects.toThrow();
    client.release(true);
    link.restore();
    expect(await one()).toEqual([{ one: 1 }]);
  });

  it('is replaced when it was idle', async () => {
    await one();
    const gone = new Promise((resolve) => pool.once('remove', resolve));
    await lose();
    await gone;
    link.restore();
    expect(await one()).toEqual([{ one: 1 }]);
  });
});

it('replaces a connection whose server has become a standby', async () => {
  const server = async () =>
    (await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows.map(({ pid }) => pid);
  const before = await server();
  // What a client sees whose server was demoted.
  await pool.query('SET default_transaction_read_only = on');
  await expect(pool.query('CREATE TABLE written (id integer)')).rejects.toMatchObject({ code: '25006' });
  await pool.query('CREATE TABLE written (id integer)');
  expect(await server()).not.toEqual(before);
  await expect(pool.query('SELECT 1 / 0')).rejects.toMatchObject({ code: '22012' });
  expect(await server()).toEqual(await server());
});

it('waits for a pooler without a server no longer than for a connection', async () => {
  await pool.end();
  pool = new DatabasePool({
    url: database.url,
    max: 1,
    pooler: 'transaction',
    session: { statement_timeout: 60_000 },
    connectionTimeoutMillis: 1_000,
  });
  const read = async (text: string) =>
    await pool.readOnce<{ pid: number }>(() => ({ text, query_timeout: 60_000 }));
  // A statement that takes longer is not ended.
  const { rows } = await read('SELECT pg_backend_pid() AS pid FROM pg_sleep(1.5)');
  const [{ pid }] = rows as [{ pid: number }];
  process.kill(pid, 'SIGSTOP');
  try {
    await expect(read('SELECT 1')).rejects.toThrow('Query read timeout');
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  expect(await one()).toEqual([{ one: 1 }]);
});

describe('a named statement', () => {
  interface Row {
    readonly id: number;
    readonly at: Date | null;
    readonly bytes: Buffer;
  }
  const find = async (id: number) => {
    const text = 'SELECT id, at, bytes FROM described WHERE id >= $1::int ORDER BY id';
    return (await pool.query<Row>({ name: 'find', text, values: [id] })).rows;
  };
  const rows = [
    { id: 1, at: new Date('2026-01-02T03:04:05Z'), bytes: Buffer.from([0, 255]) },
    { id: 2, at: null, bytes: Buffer.alloc(0) },
  ];

  beforeEach(async () => {
    await database.query('CREATE TABLE described (id integer, at timestamptz, bytes bytea)');
    for (const { id, at, bytes } of rows)
      await database.query('INSERT INTO described VALUES ($1, $2, $3)', [id, at, bytes]);
  });

  /** How often the server describes columns on the pool's connection. */
  const described = async (pooler: 'none' | 'transaction-prepared') => {
    await pool.end();
    pool = new DatabasePool({ url: database.url, max: 1, pooler });
    const client = await pool.connect();
    let count = 0;
    (client as unknown as { connection: EventEmitter }).connection.on('rowDescription', () => (count += 1));
    client.release();
    for (const from of [1, 2, 3, 1]) expect(await find(from)).toEqual(rows.filter(({ id }) => id >= from));
    return count;
  };

  it('is described once on a connection, and its rows are read the same way each time', async () => {
    expect(await described('none')).toBe(1);
  });

  it('is described each time behind a pooler, whose other sessions may have prepared it later', async () => {
    expect(await described('transaction-prepared')).toBe(4);
  });

  it('is refused, and never misread, when its columns have changed', async () => {
    await find(1);
    await database.query('ALTER TABLE described DROP COLUMN bytes, ADD COLUMN bytes integer');
    await expect(find(1)).rejects.toThrow('cached plan must not change result type');
  });

  it('can be used again after an execution failed', async () => {
    const divide = async (by: number) =>
      (
        await pool.query<{ result: number }>({
          name: 'divide',
          text: 'SELECT 6 / $1::int AS result',
          values: [by],
        })
      ).rows;
    await expect(divide(0)).rejects.toThrow('division by zero');
    expect(await divide(2)).toEqual([{ result: 3 }]);
    await expect(divide(0)).rejects.toThrow('division by zero');
    expect(await divide(3)).toEqual([{ result: 2 }]);
  });

  it('rejects with the place that ran it', async () => {
    await find(1);
    const client = await pool.connect();
    const failing = async () =>
      await client.query({ name: 'fails', text: 'SELECT 1 / $1::int', values: [0] });
    const error: unknown = await failing().catch((caught: unknown) => caught);
    client.release();
    expect(error).toMatchObject({ code: '22012', stack: expect.stringContaining('failing') });
  });
});
