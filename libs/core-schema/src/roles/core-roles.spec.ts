import { applyGrants, privilegesOf } from '@certwright/postgres';
import { RoleSessions, type TestDatabase, testDatabase } from '@certwright/testing';
import { coreDataSource } from '../core-data-source';
import { coreSchema } from './core-schema';

const processes = Object.keys(coreSchema.roles);
const frontEnds = ['orders-v3', 'certs-v2'];

let database: TestDatabase;
let roles: RoleSessions;
beforeAll(async () => {
  database = await testDatabase();
  const settings = { applicationName: 'spec', poolSize: 1, statementTimeoutMs: 30_000 };
  const owner = await coreDataSource({ url: database.url, ...settings }).initialize();
  // A copy of a database has no grants on the database.
  const { rolePrefix: prefix } = database;
  await owner.transaction(async (tx) => await applyGrants(tx, coreSchema, { prefix, passwords: {} }));
  await owner.destroy();
  roles = await RoleSessions.open(database, processes);
  await database.query(`INSERT INTO account (id, name) VALUES (1, 'Spec')`);
  await database.query(
    `WITH made AS (INSERT INTO plan (account_id, revision, auto_renew, muted, paused, download_token)
       VALUES (1, 1, true, false, false, 'token') RETURNING id),
     terms AS (INSERT INTO terms (plan_id, product, dns_names, key_type, csr, spki_sha256, approver_emails)
       SELECT id, 'free_ca', '{a.example}', 'ecdsa', '\\x01', sha256('key'), '{}' FROM made RETURNING id, plan_id)
     INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at)
     SELECT plan_id, 1, id, 1, 'open', '[]', now() FROM terms`,
  );
}, 60_000);
afterAll(async () => {
  await roles.close();
  await database.dispose();
});

const refused = '42501';
const everyoneBut = (...names: readonly string[]) => processes.filter((name) => !names.includes(name));

interface Forbidden {
  readonly what: string;
  readonly to: readonly string[];
  readonly statements: readonly string[];
}

const forbidden: readonly Forbidden[] = [
  {
    what: 'read API keys',
    to: ['approval-responder', 'notifier', 'issuance-worker'],
    statements: [
      `SELECT id FROM api_key`,
      `SELECT secret_sha256 FROM api_key`,
      `SELECT key_sealed FROM api_credential`,
    ],
  },
  {
    what: 'make or change API keys',
    to: everyoneBut('certs-v2'),
    statements: [
      `INSERT INTO api_key (account_id, label, secret_sha256, permissions) VALUES (1, 'x', '\\x01', '{}')`,
    ],
  },
  {
    what: 'enable or change an API key',
    to: processes,
    statements: [
      `UPDATE api_key SET disabled_at = NULL`,
      `UPDATE api_key SET permissions = '{}'`,
      `DELETE FROM api_key`,
    ],
  },
  {
    what: 'read secrets of webhooks',
    to: everyoneBut('orders-v3', 'notifier'),
    statements: ['secret_sealed', 'previous_secret_sealed', 'older_secrets_sealed', 'credentials_sealed'].map(
      (column) => `SELECT ${column} FROM webhook_endpoint`,
    ),
  },
  {
    what: 'read CSRs',
    to: ['approval-responder', 'notifier', 'ct-search'],
    statements: ['terms', 'order_v3', 'cert_object_v2'].map((table) => `SELECT csr FROM ${table}`),
  },
  {
    what: 'read password hashes',
    to: everyoneBut('certs-v2'),
    statements: [`SELECT password_hash FROM account_user`],
  },
  {
    what: 'read accounts at CAs and signing records',
    to: everyoneBut('issuance-worker'),
    statements: [
      `SELECT id FROM ca_account`,
      `SELECT key_sealed FROM ca_account`,
      `SELECT issuance_id FROM ca_signing`,
      `SELECT tbs FROM ca_signing`,
      `SELECT sealed FROM ca_key`,
      `SELECT id FROM acme_order`,
      `SELECT eab_hmac_sealed FROM certificate_authority`,
    ],
  },
  {
    what: 'write accounts at CAs and signing records',
    to: everyoneBut('issuance-worker'),
    statements: [
      `INSERT INTO ca_account (authority, state, key_sealed) VALUES ('x', 'x', '\\x01')`,
      `INSERT INTO ca_signing (issuance_id, serial_number, tbs, not_after) VALUES (1, 'x', '\\x01', now())`,
      `UPDATE ca_signing SET revoked_at = NULL`,
      `UPDATE ca_issuer SET crl = NULL`,
      `DELETE FROM ca_account`,
    ],
  },
  {
    what: 'change the certificates and keys of the built-in CA',
    to: processes,
    statements: [
      `INSERT INTO ca_issuer (name, certificate) VALUES ('intermediate-2', '\\x01')`,
      `UPDATE ca_issuer SET certificate = '\\x01'`,
      `UPDATE ca_issuer SET activated_at = now()`,
      `INSERT INTO ca_key (name, sealed) VALUES ('intermediate', '\\x01')`,
      `UPDATE ca_key SET sealed = '\\x01'`,
      `DELETE FROM ca_key`,
    ],
  },
  {
    what: 'read what agents enrol with and send to each other',
    to: everyoneBut('orders-v3'),
    statements: [
      `SELECT token_sha256 FROM cluster_enrolment`,
      `SELECT identity_key FROM agent`,
      `SELECT ciphertext FROM sealed_key`,
      `SELECT made_by FROM managed_key`,
      `UPDATE key_request SET agent_id = NULL`,
    ],
  },
  {
    what: 'write issuances',
    to: ['notifier', 'approval-responder', 'ct-search'],
    statements: [
      `INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at)
       SELECT plan_id, account_id, terms_id, 2, 'canceled', '[]', now() FROM issuance`,
      `UPDATE issuance SET state = 'canceled'`,
      `UPDATE issuance SET due_at = 'infinity'`,
      `UPDATE issuance SET approvals = '[]'`,
      `DELETE FROM issuance`,
    ],
  },
  {
    what: 'mark an issuance as issued or failed',
    to: frontEnds,
    statements: [
      `UPDATE issuance SET state = 'issued'`,
      `UPDATE issuance SET state = 'issued', closed_at = now() WHERE state = 'open'`,
      `UPDATE issuance SET state = 'failed', closed_at = now() WHERE state = 'open'`,
      `INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at)
       SELECT id, 1, terms_id, 2, 'issued', '[]', now() FROM plan`,
      `UPDATE issuance SET ca_reference = 'x'`,
    ],
  },
  {
    what: 'store the certificate of an issuance',
    to: everyoneBut('issuance-worker'),
    statements: [
      `INSERT INTO certificate (id, account_id, plan_id, issuance_id, is_current, dns_names, key_type, serial_number,
         not_before, not_after, sha256, spki_sha256, leaf, chain_sha256)
       SELECT 1, 1, plan_id, id, true, '{}', 'ecdsa', '1', now(), now(), '\\x01', '\\x02', '\\x03', '\\x04' FROM issuance`,
      `UPDATE certificate SET leaf = '\\x01'`,
      `DELETE FROM certificate`,
    ],
  },
  {
    what: 'create tables, functions, roles or temporary tables',
    to: processes,
    statements: [
      `CREATE TABLE mine ()`,
      `CREATE TEMPORARY TABLE mine ()`,
      `CREATE FUNCTION now() RETURNS timestamptz LANGUAGE sql AS 'SELECT clock_timestamp()'`,
      `CREATE ROLE mine`,
      `ALTER TABLE account ADD mine text`,
      `TRUNCATE outbox`,
    ],
  },
  {
    what: 'reach the server’s files and programs',
    to: processes,
    statements: [
      `SELECT pg_read_file('PG_VERSION')`,
      `COPY (SELECT 1) TO PROGRAM 'true'`,
      `SELECT * FROM pg_authid`,
    ],
  },
];

describe.each(forbidden)('may not $what', ({ to, statements }) => {
  it.each(to)('%s', async (process) => {
    for (const statement of statements)
      expect([statement, await roles.attempt(process, statement)]).toEqual([statement, refused]);
  });
});

describe.each(processes)('%s', (process) => {
  const grants = coreSchema.roles[process] ?? { tables: {} };

  it('is refused every table that it is not granted, and every column', async () => {
    const columns = await database.query<{ table: string; column: string }>(
      `SELECT relname AS table, attname AS column FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
       WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND attnum > 0 AND NOT attisdropped`,
    );
    const granted = new Set(privilegesOf(grants));
    const allowed = async (table: string, statement: string, privilege: string) => {
      const found = await roles.attempt(process, statement);
      if (
        found !== refused &&
        !granted.has(privilege) &&
        !granted.has(`${privilege.split(' ')[0]} ON ${table}`)
      )
        return [`${statement}: ${found}`];
      return [];
    };
    const faults: string[] = [];
    for (const { table, column } of columns) {
      faults.push(
        ...(await allowed(table, `SELECT "${column}" FROM ${table}`, `SELECT (${column}) ON ${table}`)),
        ...(await allowed(
          table,
          `UPDATE ${table} SET "${column}" = DEFAULT WHERE false`,
          `UPDATE (${column}) ON ${table}`,
        )),
        ...(await allowed(
          table,
          `INSERT INTO ${table} ("${column}") VALUES (DEFAULT)`,
          `INSERT (${column}) ON ${table}`,
        )),
      );
    }
    for (const table of new Set(columns.map((each) => each.table)))
      faults.push(
        ...(await allowed(table, `DELETE FROM ${table} WHERE false`, `DELETE ON ${table}`)),
        ...(await allowed(table, `TRUNCATE ${table} CASCADE`, `TRUNCATE ON ${table}`)),
      );
    expect(faults).toEqual([]);
  });
});

it('checks the privilege on the table, also when the session has a temporary table named certificate', async () => {
  const name = new URL(database.url).pathname.slice(1);
  const role = new URL(database.urlOf('orders-v3')).username;
  await database.query(`GRANT TEMPORARY ON DATABASE "${name}" TO "${role}"`);
  const statement = `CREATE TEMPORARY TABLE certificate (issuance_id bigint);
    UPDATE issuance SET state = 'issued', closed_at = now() WHERE state = 'open'`;
  expect(await roles.attempt('orders-v3', statement)).toBe(refused);
  await database.query(`REVOKE TEMPORARY ON DATABASE "${name}" FROM "${role}"`);
});

it('lets the worker request a key for a renewal, and go on without it', async () => {
  for (const statement of [
    `SELECT plan.id, new_key_at_renewal, due_at, falls_back_at FROM plan LEFT JOIN key_request ON plan_id = plan.id`,
    `INSERT INTO key_request (plan_id, reason, due_at, falls_back_at)
     SELECT id, 'renewal', now(), now() FROM plan ON CONFLICT DO NOTHING`,
    `DELETE FROM key_request WHERE plan_id = 1 AND reason = 'renewal'`,
  ])
    expect([statement, await roles.attempt('issuance-worker', statement)]).toEqual([statement, null]);
});

it('lets a front end cancel an issuance, and the worker issue and fail it', async () => {
  for (const process of frontEnds)
    expect(
      await roles.attempt(
        process,
        `UPDATE issuance SET state = 'canceled', closed_at = now() WHERE state = 'open'`,
      ),
    ).toBeNull();
  for (const state of ['issued', 'failed'])
    expect(
      await roles.attempt(
        'issuance-worker',
        `UPDATE issuance SET state = '${state}', closed_at = now() WHERE state = 'open'`,
      ),
    ).toBeNull();
});

it('shows approval-responder no link without its token', async () => {
  for (const table of ['email_approval_token', 'email_approval', 'account', 'plan', 'issuance'])
    expect([table, await roles.attempt('approval-responder', `SELECT 1 FROM ${table}`)]).toEqual([
      table,
      refused,
    ]);
  expect(await roles.attempt('approval-responder', `SELECT approval_link('\\x01')`)).toBeNull();
  for (const process of everyoneBut('approval-responder'))
    expect(await roles.attempt(process, `SELECT approve_link('\\x01')`)).toBe(refused);
});
