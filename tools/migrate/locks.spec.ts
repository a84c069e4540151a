import { coreDataSource } from '@certwright/core-schema';
import { testDatabase, type TestDatabase } from '@certwright/testing';
import type { DataSource } from 'typeorm';
import { alone, withTableLocks } from './locks';

let database: TestDatabase;
let runs: DataSource[];

beforeAll(async () => {
  database = await testDatabase();
  runs = ['one', 'another'].map((applicationName) =>
    coreDataSource({
      ...{ url: database.url, applicationName, poolSize: 2, statementTimeoutMs: 600_000 },
      lockTimeoutMs: 50,
    }),
  );
  for (const run of runs) await run.initialize();
  await database.query('CREATE TABLE busy (id integer)');
  jest.spyOn(console, 'log').mockImplementation(() => undefined);
});
afterAll(async () => {
  for (const run of runs) await run.destroy();
  await database.dispose();
});

it('lets one run after the other migrate, also when the first fails', async () => {
  const [one, another] = runs as [DataSource, DataSource];
  const order: string[] = [];
  let isAlone = true;
  const work = (name: string) => async () => {
    expect(isAlone).toBe(true);
    isAlone = false;
    // The other run has asked for the lock by then, or will find it free.
    await database.query('SELECT pg_sleep(0.05)');
    isAlone = true;
    order.push(name);
    if (name === 'one') throw new Error('no such column');
  };
  const results = await Promise.allSettled([
    alone(one, work('one')),
    alone(another, work('another')),
    alone(one, work('third')),
  ]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  expect([...order].sort()).toEqual(['another', 'one', 'third']);
});

it('waits for a locked table in short steps, between which others use it', async () => {
  const [run] = runs as [DataSource];
  const reader = (runs[1] as DataSource).createQueryRunner();
  await reader.startTransaction();
  await reader.query('SELECT FROM busy');
  const pauses: unknown[] = [];
  const alter = async () => await run.query('ALTER TABLE busy ADD name text');
  const changed = withTableLocks(alter, 600_000, async () => {
    // Would wait for the ALTER if that were still waiting for its lock.
    pauses.push(await database.query('SELECT FROM busy'));
    if (pauses.length === 2) await reader.commitTransaction();
  });
  await changed;
  expect(pauses.length).toBeGreaterThanOrEqual(2);
  expect(await database.query('SELECT name FROM busy')).toEqual([]);
  await reader.release();
});

it('says what to do when a table stays locked, and passes other errors on', async () => {
  const locked = Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' });
  const pause = async () => await Promise.resolve();
  await expect(withTableLocks(() => Promise.reject(locked), 0, pause)).rejects.toThrow(
    /^A table was locked .* pg_stat_activity .* migrate again/,
  );
  const wrong = new Error('no such column');
  await expect(withTableLocks(() => Promise.reject(wrong), 60_000, pause)).rejects.toBe(wrong);
});

it('counts only the time for which tables were locked, and not that of long migrations', async () => {
  const locked = Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' });
  const clock = { ms: 0 };
  jest.spyOn(performance, 'now').mockImplementation(() => clock.ms);
  const outcomes = [() => Promise.reject(locked), () => Promise.resolve('migrated')];
  const work = async () => {
    clock.ms += 20 * 60_000;
    return await outcomes.shift()?.();
  };
  await expect(withTableLocks(work, 600_000, async () => await Promise.resolve())).resolves.toBe('migrated');
  let attempts = 0;
  const never = async () => {
    attempts += 1;
    return await Promise.reject<never>(locked);
  };
  await expect(withTableLocks(never, 12_000, async () => await Promise.resolve())).rejects.toThrow(
    'for 12 s',
  );
  expect(attempts).toBe(4);
});
