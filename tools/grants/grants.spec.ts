import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { RoleGrants } from '@certwright/postgres';
import { coreDataSource } from '@certwright/core-schema';
import { testDatabase } from '@certwright/testing';
import type { DataSource } from 'typeorm';
import { checkRole } from './check-role';
import { readLog } from './logged-statements';
import { createProbe, Probe } from './probe';
import { probedStatements } from './probed-statements';

describe('statements of a log', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'grants-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const read = async (...lines: readonly string[]) => {
    const file = path.join(folder, 'postgres.log');
    writeFileSync(file, lines.join('\n'));
    return await readLog(file);
  };

  it('are stored once for each role, with their lines, prepared or not', async () => {
    const roles = await read(
      '||00000 LOG:  database system is ready to accept connections',
      'r_notifier|notifier|00000 LOG:  statement: SELECT 1',
      'r_notifier|notifier|00000 LOG:  execute s1: SELECT a',
      '\t  FROM t',
      'r_notifier|notifier|00000 LOG:  execute <unnamed>: SELECT a',
      '\t  FROM t',
      'r_other|spec|00000 LOG:  statement: SELECT 2',
    );
    expect([...roles].map(([role, { statements }]) => [role, [...statements]])).toEqual([
      ['r_notifier', ['SELECT 1', 'SELECT a\n  FROM t']],
      ['r_other', ['SELECT 2']],
    ]);
  });

  it('that were refused are found, except those that a spec tries on purpose', async () => {
    const refusal = (application: string) => [
      `r|${application}|42501 ERROR:  permission denied for table plan`,
      `r|${application}|42501 STATEMENT:  SELECT *`,
      '\t  FROM plan',
    ];
    const roles = await read(
      ...refusal('tries what is forbidden'),
      'r|notifier|23505 ERROR:  duplicate key value',
      'r|notifier|23505 STATEMENT:  INSERT INTO t VALUES (1)',
      ...refusal('notifier'),
    );
    expect([...(roles.get('r')?.refused ?? [])]).toEqual([
      'permission denied for table plan: SELECT * FROM plan',
    ]);
  });

  it('are probed in a form that EXPLAIN accepts', () => {
    const logged = [
      'BEGIN',
      'SET LOCAL lock_timeout = 1',
      'COPY t (a, b) FROM STDIN (FORMAT binary)',
      'SELECT FROM t_p7',
      'SELECT FROM t_p8',
      'CREATE TEMPORARY TABLE x ()',
      'TRUNCATE x',
    ];
    expect(probedStatements(logged, (text) => text.replace(/_p\d/, '_p1'))).toEqual({
      statements: ['INSERT INTO t (a, b) VALUES (NULL, NULL)', 'SELECT FROM t_p1'],
      usesTemporaryTables: true,
    });
  });
});

describe('the grants of a role', () => {
  const role = 'certwright_grants_spec';
  let database: DataSource;
  let probe: Probe;
  let close: () => Promise<void>;
  beforeAll(async () => {
    const test = await testDatabase();
    const settings = { applicationName: 'spec', poolSize: 1, statementTimeoutMs: 30_000 };
    database = await coreDataSource({ url: test.url, ...settings }).initialize();
    for (const statement of [
      `CREATE TABLE spec (id integer PRIMARY KEY, name text, made timestamptz DEFAULT now())`,
      `CREATE TABLE spec_part (id integer) PARTITION BY LIST (id)`,
      `CREATE TABLE spec_part_1 PARTITION OF spec_part FOR VALUES IN (1)`,
      `CREATE FUNCTION spec_id() RETURNS integer LANGUAGE sql AS 'SELECT 1'`,
      `REVOKE EXECUTE ON FUNCTION spec_id() FROM PUBLIC`,
      `ALTER TABLE spec ALTER id SET DEFAULT spec_id()`,
      `CREATE ROLE ${role}`,
      `GRANT SELECT, DELETE, INSERT (name, id), UPDATE (made) ON spec TO ${role}`,
      `GRANT SELECT, INSERT ON spec_part, spec_part_1 TO ${role}`,
      `GRANT EXECUTE ON FUNCTION spec_id() TO ${role}`,
    ])
      await database.query(statement);
    await createProbe(database);
    probe = new Probe(database);
    close = async () => {
      await database.query(`DROP OWNED BY ${role}`);
      await database.query(`DROP ROLE ${role}`);
      await database.destroy();
      await test.dispose();
    };
  });
  afterAll(async () => await close());

  const check = async (grants: RoleGrants, ...statements: readonly string[]) =>
    await checkRole(probe, role, grants, { statements, usesTemporaryTables: false });

  it('are valid when each is needed by a statement, and no statement is refused', async () => {
    const grants: RoleGrants = {
      tables: {
        spec: { select: '*', insert: 'name', update: 'made', delete: true },
        spec_part: { select: '*', insert: '*' },
      },
      functions: ['spec_id()'],
    };
    const faults = await check(
      grants,
      // With the default of the column that is not named.
      `INSERT INTO spec (name) VALUES ($1)`,
      // A row lock.
      `DELETE FROM spec WHERE id = (SELECT id FROM spec WHERE name = $1 FOR UPDATE SKIP LOCKED)`,
      `INSERT INTO spec_part_1 SELECT id FROM spec_part`,
    );
    expect(faults).toEqual([]);
  });

  it('that no statement needs are listed', async () => {
    const grants: RoleGrants = {
      tables: { spec: { select: '*', insert: 'id name', update: 'made', delete: true } },
      functions: ['spec_id()'],
      sequences: ['spec_id_seq'],
      temporaryTables: true,
    };
    const faults = await check(
      grants,
      `SELECT * FROM spec`,
      `INSERT INTO spec (id, name) VALUES ($1, 'update')`,
    );
    expect(faults).toEqual([
      'no statement needs UPDATE (made) ON spec',
      'no statement needs DELETE ON spec',
      'no statement needs EXECUTE ON FUNCTION spec_id()',
      'no statement needs USAGE ON SEQUENCE spec_id_seq',
      'no statement needs temporaryTables',
    ]);
  });

  it('that are missing are listed with the statement', async () => {
    const faults = await check({ tables: {} }, `UPDATE spec SET id = $1`, `TABLE spec_none`);
    expect(faults).toEqual([
      'a statement cannot be explained (relation "spec_none" does not exist): TABLE spec_none',
      'a grant is missing for: UPDATE spec SET id = $1',
    ]);
  });
});
