import { applyGrants, privilegesOf } from '@certwright/postgres';
import { RoleSessions, type TestDatabase, testDatabase } from '@certwright/testing';
import { ctDataSource } from '@certwright/ct-schema';
import { ensurePartitions } from './partitions';
import { ctSchema } from '@certwright/ct-schema';

const processes = Object.keys(ctSchema.roles);

let database: TestDatabase;
let roles: RoleSessions;
beforeAll(async () => {
  database = await testDatabase();
  const settings = { applicationName: 'spec', poolSize: 1, statementTimeoutMs: 30_000 };
  const owner = await ctDataSource({ url: database.url, ...settings }).initialize();
  await owner.runMigrations({ transaction: 'each' });
  const { rolePrefix: prefix } = database;
  await owner.transaction(async (tx) => await applyGrants(tx, ctSchema, { prefix, passwords: {} }));
  await ensurePartitions(owner, new Date(), 10, 10);
  await owner.destroy();
  roles = await RoleSessions.open(database, processes);
}, 60_000);
afterAll(async () => {
  await roles.close();
  await database.dispose();
});

const refused = '42501';

describe.each(processes)('%s', (process) => {
  const granted = new Set(privilegesOf(ctSchema.roles[process] ?? { tables: {} }));

  it('has no privileges that it is not granted, in partitions too', async () => {
    const columns = await database.query<{ table: string; root: string; column: string }>(
      `SELECT relname AS table, attname AS column,
         coalesce((SELECT inhparent::regclass::text FROM pg_inherits WHERE inhrelid = pg_class.oid), relname) AS root
       FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
       WHERE relnamespace = 'public'::regnamespace AND relname ~ '^ct_' AND relkind IN ('r', 'p') AND attnum > 0
         AND NOT attisdropped AND relname !~ '^ct_known_20(2[7-9]|3)'`,
    );
    const faults: string[] = [];
    const expectRefusal = async (statement: string, ...unless: readonly string[]) => {
      const found = await roles.attempt(process, statement);
      if (found !== refused && !unless.some((privilege) => granted.has(privilege)))
        faults.push(`${statement}: ${found}`);
    };
    for (const { table, root, column } of columns) {
      const unless = (privilege: string) => [
        `${privilege} ON ${root}`,
        `${privilege} (${column}) ON ${root}`,
      ];
      await expectRefusal(`SELECT "${column}" FROM ${table}`, ...unless('SELECT'));
      await expectRefusal(`UPDATE ${table} SET "${column}" = DEFAULT WHERE false`, ...unless('UPDATE'));
      await expectRefusal(`INSERT INTO ${table} ("${column}") VALUES (DEFAULT)`, ...unless('INSERT'));
    }
    for (const { table, root } of columns)
      await expectRefusal(`DELETE FROM ${table} WHERE false`, `DELETE ON ${root}`);
  });

  it.each([
    `CREATE TABLE mine ()`,
    `CREATE FUNCTION now() RETURNS timestamptz LANGUAGE sql AS 'SELECT clock_timestamp()'`,
    `CREATE ROLE mine`,
    `DROP TABLE ct_log`,
    `ALTER TABLE ct_issuance DETACH PARTITION ct_issuance_p10`,
    `TRUNCATE ct_issuance`,
    `SELECT ct_grant_as('ct_log', 'ct_issuer')`,
    `SELECT pg_read_file('PG_VERSION')`,
  ])('may not %s', async (statement) => {
    expect(await roles.attempt(process, statement)).toBe(refused);
  });
});

it.each([
  `CREATE TEMPORARY TABLE mine ()`,
  `SELECT nextval('ct_run_id_seq')`,
  `UPDATE ct_sequence SET next = 0`,
  `SELECT ct_make_positions(10, 20)`,
  `SELECT ct_drop_partition('ct_issuance_p10')`,
])('ct-search only reads: it may not %s', async (statement) => {
  expect(await roles.attempt('ct-search', statement)).toBe(refused);
});

it('ct-ingest cannot read accounts', async () => {
  for (const table of ['account', 'api_key', 'plan', 'terms', 'issuance'])
    expect([table, await roles.attempt('ct-ingest', `SELECT 1 FROM ${table}`)]).toEqual([table, refused]);
});

it('declares no write for ct-search', () => {
  const { tables = {}, functions = [], sequences = [] } = ctSchema.roles['ct-search'] ?? {};
  expect(Object.values(tables).flatMap((grants) => Object.keys(grants))).toEqual(
    Object.keys(tables).map(() => 'select'),
  );
  expect([...functions, ...sequences]).toEqual([]);
});
