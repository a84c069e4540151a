import 'reflect-metadata';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ctDataSource, ctSchema, distribute, planDistribution } from '@certwright/ct-schema';
import { coreDataSource, coreSchema } from '@certwright/core-schema';
import { type AppliedGrants, applyGrants, roleOf, type RoleSettings } from '@certwright/postgres';
import { type DataSource, MigrationExecutor } from 'typeorm';
import { failureText } from '../failure-text';
import { readUrlFiles } from '../url-files';
import { type MigrateArguments, readArguments, usage } from './arguments';
import { alone, lockTimeoutMs, withTableLocks } from './locks';
import { rolesTable } from './roles-table';

/** A schema and its database. */
interface Schema {
  readonly name: 'core' | 'ct';
  readonly url: string;
}

/** Creating an index on a large table may take long. */
const statementTimeoutMs = 60 * 60 * 1_000;

async function main(args: readonly string[]): Promise<void> {
  const options = readArguments(args);
  const { waitLocksMs: waitMs } = options;
  if (options.help) return void process.stdout.write(usage);
  if (options.roles) return void console.log(rolesTable());
  readUrlFiles(process.env);
  const schemas = schemasOf(options.database);
  if (options.checkDrift) {
    for (const schema of schemas) await checkDrift(schema);
    return;
  }
  if (options.revert) {
    const [schema] = schemas;
    if (schema !== undefined)
      await withDatabase(schema, async (database) => {
        const revert = async () => await revertNewest(schema, database);
        await alone(database, async () => await withTableLocks(revert, waitMs, delay));
      });
    return;
  }
  if (options.create) await createMissing(schemas);
  if (options.distribute && !schemas.some(({ name }) => name === 'ct'))
    throw new Error(`--distribute needs CT_DATABASE_URL.\n\n${usage}`);
  for (const schema of schemas) await migrate(schema, waitMs, options.distribute);
}

/** The core database first, because every process needs it. */
function schemasOf(only: MigrateArguments['database']): Schema[] {
  const [core, ct] = [process.env['DATABASE_URL'], process.env['CT_DATABASE_URL']];
  const schemas: Schema[] = [];
  if (only !== 'ct') {
    if (core === undefined) throw new Error(`DATABASE_URL is not set.\n\n${usage}`);
    schemas.push({ name: 'core', url: core });
  }
  if (only === 'ct' && ct === undefined) throw new Error(`CT_DATABASE_URL is not set.\n\n${usage}`);
  if (only !== 'core' && ct !== undefined) schemas.push({ name: 'ct', url: ct });
  return schemas;
}

/** @param schemas the database of the first exists, and is used to create the others on the same server */
async function createMissing([core, ...others]: readonly Schema[]): Promise<void> {
  if (core === undefined) return;
  for (const { url } of others) {
    const name = decodeURIComponent(new URL(url).pathname.slice(1));
    if (new URL(url).host !== new URL(core.url).host || !/^\w{1,63}$/.test(name))
      throw new Error(
        '--create needs a CT_DATABASE_URL on the server of DATABASE_URL, with a database name of letters, digits and underscores.',
      );
    await withDatabase(core, async (database) => {
      const found = await database.query<unknown[]>(`SELECT 1 FROM pg_database WHERE datname = $1`, [name]);
      if (found.length === 0) await database.query(`CREATE DATABASE "${name}"`);
    });
  }
}

/** Of several runs at the same time, one after the other migrates. */
async function migrate(schema: Schema, waitMs: number, distributes: boolean): Promise<void> {
  await withDatabase(schema, async (database) => {
    const isDistributed = distributes && schema.name === 'ct';
    const work = async () => {
      // Before anything is changed.
      if (isDistributed) await planDistribution(database.manager);
      await migrateOnce(schema, database);
      if (isDistributed) await distributeOnce(database);
    };
    await alone(database, async () => await withTableLocks(work, waitMs, delay));
  });
}

async function distributeOnce(database: DataSource): Promise<void> {
  const { tables, servers } = await distribute(database);
  const where = `over ${servers} ${servers === 1 ? 'worker' : 'workers'}`;
  console.log(
    tables.length === 0
      ? `The tables of ct are distributed ${where} already.`
      : `distributed ${where}: ${tables.join(', ')}. Start the processes that use the ct database again.`,
  );
}

async function migrateOnce(schema: Schema, database: DataSource): Promise<void> {
  const run = await database.runMigrations({ transaction: 'each' });
  for (const { name } of run) console.log(`migrated ${schema.name}: ${name}`);
  if (run.length === 0) console.log(`The ${schema.name} schema is up to date.`);
  const granted = schema.name === 'core' ? coreSchema : ctSchema;
  const settings = roleSettings(Object.keys(granted.roles));
  const applied = await database.transaction(async (tx) => await applyGrants(tx, granted, settings));
  reportRoles(schema, applied);
  // A file with another name than its process is ignored.
  const passwords = Object.keys(settings.passwords).filter(
    (name) => !applied.absent.includes(roleOf(settings.prefix, name)),
  );
  if (passwords.length > 0) console.log(`set the passwords of: ${passwords.join(', ')}`);
}

async function revertNewest({ name }: Schema, database: DataSource): Promise<void> {
  const [newest] = await new MigrationExecutor(database).getExecutedMigrations();
  await database.undoLastMigration({ transaction: 'each' });
  console.log(
    newest === undefined ? `The ${name} schema has no migration.` : `reverted ${name}: ${newest.name}`,
  );
}

function roleSettings(processes: readonly string[]): RoleSettings {
  const prefix = process.env['DATABASE_ROLE_PREFIX'] ?? 'certwright_';
  if (!/^[a-z_][a-z0-9_]{0,40}$/.test(prefix))
    throw new Error('DATABASE_ROLE_PREFIX must have up to 41 lower-case letters, digits and underscores.');
  const folder = process.env['DATABASE_ROLE_PASSWORDS_DIR'] ?? '';
  if (folder === '') return { prefix, passwords: {} };
  if (!existsSync(folder))
    throw new Error(`DATABASE_ROLE_PASSWORDS_DIR names a folder that does not exist: ${folder}.`);
  const files = processes
    .map((name) => [name, path.join(folder, name)] as const)
    .filter(([, file]) => existsSync(file));
  const passwords = Object.fromEntries(files.map(([name, file]) => [name, passwordIn(file)] as const));
  return { prefix, passwords };
}

function passwordIn(file: string): string {
  const password = readFileSync(file, 'utf8').trim();
  if (!/^[\x20-\x7e]+$/.test(password))
    throw new Error(
      `${file} has no password: write one line of printable ASCII, as DATABASE_ROLE_PASSWORDS_DIR needs it.`,
    );
  return password;
}

function reportRoles(
  { name }: Schema,
  { created, absent, granted, revoked, set, refused }: AppliedGrants,
): void {
  if (created.length > 0) console.log(`created roles: ${created.join(', ')}`);
  console.log(
    granted + revoked === 0
      ? `The grants of ${name} are up to date.`
      : `granted in ${name}: ${granted} privileges; revoked: ${revoked}`,
  );
  if (set > 0) console.log(`set in ${name}: ${set} settings of roles`);
  if (refused.length > 0)
    console.log(
      `Behind a pooler, roles need settings that this user may not set. As a superuser:\n${refused.map((statement) => `  ${statement};`).join('\n')}`,
    );
  if (absent.length > 0)
    console.log(
      `missing roles, which this user may not create: ${absent.join(', ')}. Create them and migrate again. Until then, ` +
        'processes have the privileges of the user they connect as.',
    );
}

/** Migrates an empty database up, down and up again, and has TypeORM compare it with the entities. */
async function checkDrift(schema: Schema): Promise<void> {
  const name = `certwright_drift_${schema.name}_${process.pid}`;
  await withDatabase(schema, async (database) => await database.query(`CREATE DATABASE ${name}`));
  try {
    const own = new URL(schema.url);
    own.pathname = `/${name}`;
    await withDatabase({ ...schema, url: own.href }, async (database) => {
      const migrations = await database.runMigrations({ transaction: 'each' });
      for (const _ of migrations) await database.undoLastMigration({ transaction: 'each' });
      await database.runMigrations({ transaction: 'each' });
      const { upQueries } = await database.driver.createSchemaBuilder().log();
      if (upQueries.length === 0)
        return void console.log(`No drift in ${schema.name}: entities and migrations match, up and down.`);
      for (const { query } of upQueries) console.error(query);
      throw new Error('Entities and migrations differ: the migrations lack the statements above.');
    });
  } finally {
    await withDatabase(schema, async (database) => await database.query(`DROP DATABASE IF EXISTS ${name}`));
  }
}

async function withDatabase(
  { name, url }: Schema,
  work: (database: DataSource) => Promise<unknown>,
): Promise<void> {
  const open = name === 'core' ? coreDataSource : ctDataSource;
  const database = open({
    url,
    applicationName: 'certwright-migrate',
    // One connection holds the lock of the run.
    poolSize: 2,
    statementTimeoutMs,
    lockTimeoutMs,
  });
  await database.initialize();
  try {
    await work(database);
  } finally {
    await database.destroy();
  }
}

main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(failureText(error));
  process.exit(1);
});
