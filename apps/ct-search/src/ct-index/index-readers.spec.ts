import { DatabaseClient } from '@certwright/postgres';
import { createLogger } from '@certwright/service';
import { eventually, severableLink, type TestDatabase, testDatabase } from '@certwright/testing';
import { timeLimitExceeded } from './database-problem';
import { IndexReader, IndexReaders } from './index-readers';

jest.setTimeout(30_000);

let database: TestDatabase;
let readers: IndexReaders;
beforeEach(async () => {
  database = await testDatabase();
  readers = new IndexReaders({
    url: database.url,
    poolSize: 1,
    log: createLogger('spec', 'silent'),
  });
});
afterEach(async () => {
  await readers.close();
  await database.dispose();
});

const within = (timeLimitMs: number) => readers.within({ kind: 'spec', timeLimitMs });

it('ends a statement at the time limit of its plan', async () => {
  for (const seconds of [20, 30])
    expect(await within(seconds * 1_000).query('SHOW statement_timeout')).toEqual([
      { statement_timeout: `${seconds}s` },
    ]);
  // On the only connection of that plan, instead of waiting for 20 s.
  await within(20_000).query('SET statement_timeout = 10');
  await expect(within(20_000).query('SELECT pg_sleep(60)')).rejects.toMatchObject({ code: 'timeout' });
});

it('limits the total time of a request, including all statements and the wait for a connection', async () => {
  let nowMs = 0;
  const timeouts: number[] = [];
  const query = async (_text: string, _values: unknown[], timeoutMs: () => number) => {
    nowMs += 10;
    const leftMs = timeoutMs();
    if (leftMs <= 0) throw timeLimitExceeded();
    timeouts.push(leftMs);
    return await Promise.resolve([(nowMs += 60)]);
  };
  const pool = {
    query,
    look: async () => await Promise.reject(new Error('not expected')),
    isSharded: async () => await Promise.resolve(false),
  };
  const reader = new IndexReader(pool, 150, undefined, () => nowMs);
  expect([await reader.query('one'), await reader.query('two')]).toEqual([[70], [140]]);
  expect(timeouts).toEqual([140, 70]);
  await expect(reader.query('three')).rejects.toMatchObject({ code: 'timeout' });
});

it('lets PostgreSQL end a later statement when the time of the request expires', async () => {
  const reader = within(2_000);
  await reader.query('SELECT pg_sleep(0.5)');
  const [{ statement_timeout }] = await reader.query<[Record<string, string>]>('SHOW statement_timeout');
  expect(Number(statement_timeout?.replace('ms', ''))).toBeLessThanOrEqual(1_500);
  await expect(reader.query('SELECT pg_sleep(600)')).rejects.toMatchObject({ code: 'timeout' });
  const running = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`;
  expect(await database.query(running)).toEqual([]);
  // The next request has its whole time again.
  expect(await within(2_000).query('SHOW statement_timeout')).toEqual([{ statement_timeout: '2s' }]);
});

it('throws service_outage, not timeout, for a later statement of which PostgreSQL reports nothing', async () => {
  const reader = await eventually(async () => {
    const each = within(400);
    return { each, rows: await each.query<[{ pid: number }]>('SELECT pg_backend_pid() AS pid') };
  });
  const [{ pid }] = reader.rows;
  process.kill(pid, 'SIGSTOP');
  try {
    await expect(reader.each.query('SELECT 1')).rejects.toMatchObject({ code: 'service_outage' });
  } finally {
    process.kill(pid, 'SIGCONT');
  }
});

describe('a replica that ends every statement, as it conflicts with what the primary does', () => {
  afterEach(() => jest.restoreAllMocks());

  it.each(['40001', '40P01', '57P01', '57P04'])('is an outage after some repetitions: %s', async (code) => {
    const conflict = Object.assign(new Error('conflict with recovery'), { code });
    const reads = jest.spyOn(DatabaseClient.prototype, 'readOnce').mockRejectedValue(conflict);
    const outage = { code: 'service_outage', retryAfterS: expect.any(Number) };
    await expect(within(20_000).query('SELECT 1')).rejects.toMatchObject(outage);
    expect(reads).toHaveBeenCalledTimes(8);
  });

  it('is an outage also when the time of the request expires meanwhile', async () => {
    const conflict = Object.assign(new Error('conflict with recovery'), { code: '40001' });
    let reads = 0;
    jest.spyOn(DatabaseClient.prototype, 'readOnce').mockImplementation(async () => {
      reads += 1;
      jest.spyOn(performance, 'now').mockReturnValue(Infinity);
      return await Promise.reject(conflict);
    });
    await expect(within(20_000).query('SELECT 1')).rejects.toMatchObject({ code: 'service_outage' });
    expect(reads).toBe(1);
  });
});

it('uses separate connections for each kind of request', async () => {
  let waiting: Promise<unknown> = Promise.resolve();
  await database.transaction(async (tx) => {
    await tx.query('SELECT pg_advisory_xact_lock(1)');
    waiting = within(20_000).query('SELECT pg_advisory_xact_lock(1)');
    const other = readers.within({ kind: 'other', timeLimitMs: 20_000 });
    const first = await Promise.race([waiting, other.query('SELECT 1 AS one')]);
    expect(first).toEqual([{ one: 1 }]);
  });
  await waiting;
});

it('prepares each statement once per connection, and writes nothing', async () => {
  const reader = within(20_000);
  const sums = [
    await reader.query('SELECT $1::int + 1 AS sum', [1]),
    await reader.query('SELECT $1::int + 1 AS sum', [2]),
  ];
  const prepared = await reader.query(
    `SELECT count(*)::int AS count FROM pg_prepared_statements WHERE statement = 'SELECT $1::int + 1 AS sum'`,
  );
  // With TEST_POOLER=transaction, none is.
  const count = process.env['DATABASE_POOLER'] === 'transaction' ? 0 : 1;
  expect([sums, prepared]).toEqual([[[{ sum: 2 }], [{ sum: 3 }]], [{ count }]]);
  await expect(reader.query('CREATE TABLE x ()')).rejects.toMatchObject({ code: 'service_outage' });
  expect(await reader.query('SELECT FROM pg_class WHERE relname = $1', ['x'])).toEqual([]);
});

it('gives up on a hanging server, and continues with another connection', async () => {
  const [{ pid }] = await eventually(
    async () => await within(400).query<[{ pid: number }]>('SELECT pg_backend_pid() AS pid'),
  );
  process.kill(pid, 'SIGSTOP');
  try {
    await expect(within(400).query('SELECT 1')).rejects.toMatchObject({ code: 'service_outage' });
    await expect(within(20_000).query('SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
    await eventually(async () => expect(await within(400).query('SELECT 1 AS one')).toEqual([{ one: 1 }]));
  } finally {
    process.kill(pid, 'SIGCONT');
  }
});

it('survives the loss of a connection during a statement, and continues with another one', async () => {
  const url = new URL(database.url);
  const link = await severableLink({ host: url.hostname, port: Number(url.port) });
  url.host = `127.0.0.1:${link.port}`;
  const log = createLogger('spec', 'silent');
  const readers = new IndexReaders({ url: url.href, poolSize: 1, log });
  const reader = readers.within({ kind: 'spec', timeLimitMs: 20_000 });
  try {
    const outcome = expect(reader.query('SELECT pg_sleep(60)')).rejects.toMatchObject({
      code: 'service_outage',
    });
    await eventually(async () => {
      const asleep = await database.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`,
      );
      expect(asleep).toHaveLength(1);
    });
    link.cut();
    await outcome;
    link.restore();
    expect(await reader.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  } finally {
    await readers.close();
    await link.close();
  }
});
