import { createLogger } from '@certwright/service';
import { type TestDatabase, testDatabase } from '@certwright/testing';
import type { Pool } from 'pg';
import { IndexReader, IndexReaders } from './index-readers';

jest.setTimeout(30_000);

let database: TestDatabase;
let readers: IndexReaders;
beforeEach(async () => {
  database = await testDatabase();
  readers = new IndexReaders({ url: database.url, poolSize: 1, log: createLogger('spec', 'silent') });
});
afterEach(async () => {
  await readers.close();
  await database.dispose();
});

it('ends a statement at the time limit of the plan, each plan with its own', async () => {
  const sleep = async (limitMs: number) => await readers.within(limitMs).query(`SELECT pg_sleep(0.4)`);
  await expect(sleep(100)).rejects.toMatchObject({ code: 'timeout' });
  await expect(sleep(20_000)).resolves.toHaveLength(1);
  await expect(sleep(100)).rejects.toMatchObject({ code: 'timeout' });
});

it('lets all statements of a request together take no longer', async () => {
  let nowMs = 0;
  const pool = { query: async () => await Promise.resolve({ rows: [(nowMs += 60)] }) } as unknown as Pool;
  const reader = new IndexReader(pool, 100, () => nowMs);
  expect([await reader.query('one'), await reader.query('two')]).toEqual([[60], [120]]);
  await expect(reader.query('three')).rejects.toMatchObject({ code: 'timeout' });
});

it('prepares each statement once per connection, and writes nothing', async () => {
  const reader = readers.within(20_000);
  const sums = [
    await reader.query('SELECT $1::int + 1 AS sum', [1]),
    await reader.query('SELECT $1::int + 1 AS sum', [2]),
  ];
  const prepared = await reader.query(
    `SELECT count(*)::int AS count FROM pg_prepared_statements WHERE statement = 'SELECT $1::int + 1 AS sum'`,
  );
  expect([sums, prepared]).toEqual([[[{ sum: 2 }], [{ sum: 3 }]], [{ count: 1 }]]);
  await expect(reader.query('CREATE TABLE x ()')).rejects.toMatchObject({ code: '25006' });
});

it('gives up on a server that does not answer any more, and goes on with another connection', async () => {
  const reader = readers.within(400);
  const [{ pid }] = await reader.query<[{ pid: number }]>('SELECT pg_backend_pid() AS pid');
  process.kill(pid, 'SIGSTOP');
  try {
    await expect(readers.within(400).query('SELECT 1')).rejects.toMatchObject({ code: 'service_outage' });
    await expect(readers.within(20_000).query('SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
    await expect(readers.within(400).query('SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
});
