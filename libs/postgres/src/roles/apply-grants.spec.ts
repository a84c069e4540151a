import { randomBytes } from 'node:crypto';
import { type TestDatabase, testDatabase } from '@certwright/testing';
import { Client } from 'pg';
import { applyGrants, type RoleSettings, type Transaction } from './apply-grants';
import { excessPrivileges, warnOfExcessPrivileges } from './excess-privileges';
import { sessionSettings } from '../session-settings';
import { settingsProblem } from '../settings-check';
import type { GrantedSchema } from './role-grants';

const prefix = `spec_${randomBytes(4).toString('hex')}_`;
const reader = `${prefix}a_reader`;
const password = 'correct horse';
const settings: RoleSettings = { prefix, passwords: { 'a-reader': password } };

const schemaWith = (roles: GrantedSchema['roles']): GrantedSchema => ({
  name: 'core',
  relations: /^spec_/,
  functions: ['spec_sum(integer,integer)'],
  definers: [
    {
      signature: 'spec_count()',
      definition: (asOwner) =>
        `CREATE OR REPLACE FUNCTION spec_count() RETURNS bigint LANGUAGE sql ${asOwner} AS 'SELECT count(*) FROM spec_secret'`,
    },
  ],
  roles,
});

const schema = schemaWith({
  'a-reader': {
    tables: { spec_open: { select: 'id name', update: 'name' }, spec_part: { select: 'position' } },
    functions: ['spec_count()'],
    session: sessionSettings({ statementTimeoutMs: 7_000 }),
  },
});

let database: TestDatabase;
let name: string;
beforeAll(async () => {
  database = await testDatabase();
  name = new URL(database.url).pathname.slice(1);
  for (const statement of [
    `CREATE TABLE spec_open (id integer PRIMARY KEY, name text, hidden text)`,
    `CREATE TABLE spec_secret (id integer)`,
    // The name of its column is a keyword.
    `CREATE TABLE spec_part (position integer) PARTITION BY LIST (position)`,
    `CREATE TABLE spec_part_1 PARTITION OF spec_part FOR VALUES IN (1)`,
    `CREATE FUNCTION spec_sum(integer, integer) RETURNS integer LANGUAGE sql AS 'SELECT $1 + $2'`,
    `INSERT INTO spec_open VALUES (1, 'a', 'b')`,
  ])
    await database.query(statement);
});
afterAll(async () => {
  await database.query(`DROP OWNED BY "${reader}"`);
  await database.query(`DROP ROLE "${reader}"`);
  await database.dispose();
});

const apply = async (to: GrantedSchema = schema, how: RoleSettings = settings) =>
  await database.transaction(async (tx) => await applyGrants(tx as Transaction, to, how));

type Query = (text: string, values?: unknown[]) => Promise<unknown[]>;

/** As the role, by its password. */
async function asReader<T>(work: (query: Query) => Promise<T>): Promise<T> {
  const url = new URL(database.url);
  [url.username, url.password] = [reader, password];
  const client = new Client({ connectionString: url.href });
  await client.connect();
  try {
    return await work(async (text, values = []) => (await client.query<object>(text, values)).rows);
  } finally {
    await client.end();
  }
}

it('creates the role with its password, and grants what is declared', async () => {
  expect(await apply()).toMatchObject({ created: [reader], absent: [] });
  await asReader(async (query) => {
    expect(await query(`SELECT id, name FROM spec_open`)).toEqual([{ id: 1, name: 'a' }]);
    expect(await query(`UPDATE spec_open SET name = 'c' WHERE id = 1 RETURNING id`)).toEqual([{ id: 1 }]);
    expect(await query(`SELECT position FROM spec_part_1`)).toEqual([]);
    expect(await query(`SELECT spec_count()`)).toEqual([{ spec_count: '0' }]);
  });
});

it.each([
  `SELECT hidden FROM spec_open`,
  `UPDATE spec_open SET id = 2`,
  `DELETE FROM spec_open`,
  `SELECT FROM spec_secret`,
  `INSERT INTO spec_part VALUES (1)`,
  `SELECT spec_sum(1, 2)`,
  `CREATE TABLE spec_new ()`,
  `CREATE TEMPORARY TABLE spec_new ()`,
])('the role may not %s', async (statement) => {
  await asReader(async (query) => await expect(query(statement)).rejects.toMatchObject({ code: '42501' }));
});

it('changes nothing when it is repeated', async () => {
  expect(await apply()).toEqual({ created: [], absent: [], granted: 0, revoked: 0, set: 0, refused: [] });
});

it('keeps a password that it is not given', async () => {
  await apply(schema, { prefix, passwords: {} });
  await expect(asReader(async (query) => await query(`SELECT 1 AS one`))).resolves.toEqual([{ one: 1 }]);
});

it('takes back what is not declared any more, and what was granted besides it', async () => {
  await database.query(`GRANT SELECT ON spec_secret TO "${reader}"`);
  await database.query(`GRANT INSERT (name) ON spec_open TO "${reader}"`);
  const less = schemaWith({ 'a-reader': { tables: { spec_open: { select: 'id' } } } });
  // Name to read and to write, both partition tables, the function, and the two of above.
  expect(await apply(less)).toMatchObject({ granted: 0, revoked: 7 });
  await asReader(async (query) => {
    expect(await query(`SELECT id FROM spec_open`)).toEqual([{ id: 1 }]);
    await expect(query(`SELECT name FROM spec_open`)).rejects.toMatchObject({ code: '42501' });
  });
  await apply();
});

it('keeps what only processes of the release before use', async () => {
  const retiring = ['SELECT (hidden) ON spec_open'];
  await apply(schemaWith({ 'a-reader': { tables: {}, retiring } }));
  await asReader(
    async (query) => await expect(query(`SELECT hidden FROM spec_open`)).resolves.toEqual([{ hidden: 'b' }]),
  );
  await apply();
});

it('leaves the way into the database to users who were granted tables otherwise', async () => {
  const other = `${prefix}reports`;
  await database.query(`CREATE ROLE "${other}"`);
  await database.query(
    `GRANT CONNECT, TEMPORARY ON DATABASE "${new URL(database.url).pathname.slice(1)}" TO PUBLIC`,
  );
  await database.query(`GRANT SELECT ON spec_open TO "${other}"`);
  await apply();
  const [row] = await database.query(
    `SELECT has_database_privilege($1, current_database(), 'CONNECT') AS connects,
       has_database_privilege($1, current_database(), 'TEMPORARY') AS temporary,
       EXISTS (SELECT FROM pg_database, aclexplode(datacl) WHERE datname = current_database() AND grantee = 0) AS public`,
    [other],
  );
  expect(row).toEqual({ connects: true, temporary: true, public: false });
  await database.query(`DROP OWNED BY "${other}"`);
  await database.query(`DROP ROLE "${other}"`);
});

it('reports roles that the user may not create, and grants to those that there are', async () => {
  const owner = `${prefix}owner`;
  await database.query(`CREATE ROLE "${owner}"`);
  const both = schemaWith({ ...schema.roles, another: { tables: { spec_open: { select: '*' } } } });
  const applied = await database.transaction(async (tx) => {
    for (const table of ['spec_open', 'spec_secret', 'spec_part', 'spec_part_1'])
      await tx.query(`ALTER TABLE ${table} OWNER TO "${owner}"`);
    for (const signature of ['spec_count()', 'spec_sum(integer, integer)'])
      await tx.query(`ALTER FUNCTION ${signature} OWNER TO "${owner}"`);
    await tx.query(`GRANT CREATE ON SCHEMA public TO "${owner}"`);
    await tx.query(`SET LOCAL ROLE "${owner}"`);
    await tx.query(`REVOKE SELECT (name) ON spec_open FROM "${reader}"`);
    return await applyGrants(tx as Transaction, both, { prefix, passwords: {} });
  });
  expect(applied).toMatchObject({ created: [], absent: [`${prefix}another`], granted: 1, revoked: 0 });
  await database.query(`REASSIGN OWNED BY "${owner}" TO current_user`);
  await database.query(`DROP OWNED BY "${owner}"`);
  await database.query(`DROP ROLE "${owner}"`);
});

describe('the settings of a role', () => {
  const settingsOf = async () =>
    await asReader(async (query) => [
      await query(`SHOW statement_timeout`),
      await query(`SHOW idle_in_transaction_session_timeout`),
    ]);
  const problem = async () =>
    await asReader(async (query) =>
      settingsProblem({ query } as Transaction, sessionSettings({ statementTimeoutMs: 7_000 })),
    );

  it('apply to its sessions in the database', async () => {
    await apply();
    expect(await settingsOf()).toEqual([
      [{ statement_timeout: '7s' }],
      [{ idle_in_transaction_session_timeout: '10s' }],
    ]);
    expect(await problem()).toBeNull();
  });

  it('are kept when an operator has changed them, and the process says what is wrong', async () => {
    const change = `ALTER ROLE "${reader}" IN DATABASE "${name}" SET statement_timeout =`;
    await database.query(`${change} '8s'`);
    expect(await apply()).toMatchObject({ set: 0, refused: [] });
    expect(await problem()).toMatch(
      new RegExp(
        `^With DATABASE_POOLER the role "${reader}".* statement_timeout is 8000ms and must be 7000ms\\. `,
      ),
    );
    expect(await problem()).toContain(`${change} '7000'`);
    await database.query(`ALTER ROLE "${reader}" IN DATABASE "${name}" RESET statement_timeout`);
    expect(await apply()).toMatchObject({ set: 1 });
  });

  it('are reported when the user may not set them', async () => {
    const owner = `${prefix}plain`;
    await database.query(`CREATE ROLE "${owner}"`);
    await database.query(`ALTER ROLE "${reader}" IN DATABASE "${name}" RESET ALL`);
    const empty = schemaWith({ 'a-reader': { tables: {}, session: schema.roles['a-reader']?.session } });
    const { set, refused } = await database.transaction(async (tx) => {
      await tx.query(`SET LOCAL ROLE "${owner}"`);
      return await applyGrants(
        tx as Transaction,
        { ...empty, relations: /^absent_/, functions: [], definers: [] },
        { prefix, passwords: {} },
      );
    });
    expect(set).toBe(0);
    expect(refused).toEqual([
      `ALTER ROLE "${reader}" IN DATABASE "${name}" SET statement_timeout = '7000'`,
      `ALTER ROLE "${reader}" IN DATABASE "${name}" SET idle_in_transaction_session_timeout = '10000'`,
    ]);
    await database.query(`DROP ROLE "${owner}"`);
    expect(await apply()).toMatchObject({ set: 2 });
  });
});

describe('privileges beyond those that a process needs', () => {
  const log = { warn: jest.fn() };
  beforeEach(() => log.warn.mockClear());

  it('has no role that holds what is declared', async () => {
    await asReader(async (query) => {
      const found = await excessPrivileges({ query } as Transaction, schema, 'a-reader');
      expect(found).toEqual({ role: reader, privileges: [] });
      await warnOfExcessPrivileges({ query } as Transaction, schema, 'a-reader', log);
    });
    expect(log.warn).not.toHaveBeenCalled();
  });

  it('has a role that was granted more', async () => {
    await database.query(`GRANT SELECT ON spec_secret TO "${reader}"`);
    await asReader(async (query) => {
      const { privileges } = await excessPrivileges({ query } as Transaction, schema, 'a-reader');
      expect(privileges).toEqual(['SELECT (id) ON spec_secret']);
    });
    await apply();
  });

  it('has the owner of the tables, which the log says', async () => {
    await warnOfExcessPrivileges(database as unknown as Transaction, schema, 'a-reader', log);
    expect(log.warn).toHaveBeenCalledWith(
      expect.objectContaining({
        database: 'core',
        for_example: expect.arrayContaining(['DELETE ON spec_open']),
      }),
      expect.stringContaining('privileges that this process does not need'),
    );
  });
});
