import { eventually, testDatabase, type TestDatabase } from '@certwright/testing';
import { awaitSchema, databaseTime, schemaCheck, schemaState, type UsedSchema } from './schema-version';

class First1700000000001 {}
class Second1700000000002 {}
class Third1700000000003 {}

const schema: UsedSchema = {
  database: 'core',
  setting: 'DATABASE_URL',
  migrationsTable: 'spec_migration',
  migrations: [First1700000000001, Second1700000000002, Third1700000000003],
};

let database: TestDatabase;
beforeEach(async () => {
  database = await testDatabase();
});
afterEach(async () => await database.dispose());

const query = async (text: string) => await database.query(text);

async function migrated(...names: readonly string[]): Promise<void> {
  await database.query(`CREATE TABLE IF NOT EXISTS spec_migration (name text)`);
  await database.query(`INSERT INTO spec_migration SELECT unnest($1::text[])`, [names]);
}
const minimum = async (timestamp: string) =>
  await database.query(`COMMENT ON TABLE spec_migration IS 'minimum_migration=${timestamp}'`);

const all = schema.migrations.map(({ name }) => name);

it('needs every migration of the release but the newest', async () => {
  expect(await schemaState(query, schema)).toEqual({ kind: 'older', migration: 'First1700000000001' });
  await migrated('First1700000000001');
  expect(await schemaState(query, schema)).toEqual({ kind: 'older', migration: 'Second1700000000002' });
  await migrated('Second1700000000002');
  expect(await schemaState(query, schema)).toEqual({
    kind: 'newest_missing',
    migration: 'Third1700000000003',
  });
  await migrated('Third1700000000003');
  expect(await schemaState(query, schema)).toEqual({ kind: 'current' });
});

it('accepts migrations of later releases, until one needs a migration that this release does not have', async () => {
  await migrated(...all, 'Later1700000000004');
  expect(await schemaState(query, schema)).toEqual({ kind: 'current' });
  await minimum('1700000000003');
  expect(await schemaState(query, schema)).toEqual({ kind: 'current' });
  await minimum('1700000000004');
  expect(await schemaState(query, schema)).toEqual({ kind: 'newer', minimum: '1700000000004' });
  await expect(awaitSchema(query, schema, { log: { warn: jest.fn() } })).rejects.toThrow(
    /^DATABASE_URL: the core schema needs a release with the migration 1700000000004, .*; start a newer release/,
  );
});

it('waits for a missing migration and logs one line that names it and the command', async () => {
  const warn = jest.fn();
  let isOver = false;
  const waiting = awaitSchema(query, schema, { log: { warn }, everyMs: 5 }).then(() => (isOver = true));
  await eventually(() => expect(warn).toHaveBeenCalledTimes(1));
  await migrated('First1700000000001');
  expect(isOver).toBe(false);
  await migrated('Second1700000000002', 'Third1700000000003');
  await waiting;
  expect(warn.mock.calls).toEqual([
    [
      { database: 'core', setting: 'DATABASE_URL', migration: 'First1700000000001' },
      'not ready: the core schema lacks a migration; run "npm run migrate" of this release, or correct DATABASE_URL',
    ],
  ]);
});

it('warns once when only the newest migration is missing', async () => {
  const warn = jest.fn();
  await migrated(...all.slice(0, 2));
  await awaitSchema(query, schema, { log: { warn } });
  expect(warn).toHaveBeenCalledTimes(1);
});

it('passes as a readiness check while the database is down, and is not repeated once it has passed', async () => {
  await migrated('First1700000000001');
  let asked = 0;
  let isDown = true;
  const check = schemaCheck(async (text) => {
    asked += 1;
    if (isDown) throw new Error('ECONNREFUSED');
    return await query(text);
  }, schema);
  await check();
  isDown = false;
  await expect(check()).rejects.toThrow(
    /^DATABASE_URL: the core schema lacks the migration Second1700000000002; run "npm run migrate"/,
  );
  await migrated('Second1700000000002');
  await check();
  const before = asked;
  await check();
  expect(asked).toBe(before);
});

it('is not checked by a role that may not read the migrations yet', async () => {
  await migrated();
  const role = async (text: string) =>
    await database.transaction(async (tx) => {
      await tx.query(`SET LOCAL ROLE "${database.rolePrefix}notifier"`);
      return await tx.query(text);
    });
  expect(await schemaState(role, schema)).toEqual({ kind: 'unknown' });
});

it('reads the clock of the server', async () => {
  const { serverTimeMs, setting } = await databaseTime(query, 'DATABASE_URL');
  expect(setting).toBe('DATABASE_URL');
  expect(Math.abs(serverTimeMs - Date.now())).toBeLessThan(30_000);
});
