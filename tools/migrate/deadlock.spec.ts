import { coreDataSource } from '@certwright/core-schema';
import { testDatabase, type TestDatabase } from '@certwright/testing';
import type { DataSource } from 'typeorm';
import { lockTimeoutMs, withTableLocks } from './locks';

jest.setTimeout(30_000);

let database: TestDatabase;
let run: DataSource;
let app: DataSource;

beforeAll(async () => {
  database = await testDatabase();
  const open = (applicationName: string, limits: object) =>
    coreDataSource({
      url: database.url,
      applicationName,
      poolSize: 2,
      statementTimeoutMs: 60_000,
      ...limits,
    });
  run = open('migrate', { lockTimeoutMs });
  app = open('app', {});
  for (const each of [run, app]) await each.initialize();
  await database.query('CREATE TABLE one (id integer)');
  await database.query('CREATE TABLE two (id integer)');
  jest.spyOn(console, 'log').mockImplementation(() => undefined);
});
afterAll(async () => {
  for (const each of [run, app]) await each.destroy();
  await database.dispose();
});

it('tries again when it was chosen as the victim of a deadlock with a request', async () => {
  const request = app.createQueryRunner();
  await request.startTransaction();
  await request.query('INSERT INTO two VALUES (1)');
  let blocked: Promise<unknown> | undefined;
  // As managed-orders: one table, then another, in one transaction.
  const migration = async () =>
    await run.transaction(async (tx) => {
      await tx.query('ALTER TABLE one ADD IF NOT EXISTS name text');
      if (blocked === undefined) {
        blocked = request.query('SELECT FROM one').then(async () => await request.commitTransaction());
        // The request has looked for a deadlock by then (deadlock_timeout), and found none.
        await tx.query('SELECT pg_sleep(1.3)');
      }
      await tx.query('ALTER TABLE two ADD IF NOT EXISTS name text');
    });
  await withTableLocks(migration, 60_000, async () => await blocked);
  await blocked;
  expect(await database.query('SELECT name FROM one')).toEqual([]);
  await request.release();
});
