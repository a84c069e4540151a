import { setTimeout as delay } from 'node:timers/promises';
import { StartFault } from '@certwright/errors';
import { missingPrivileges } from './roles/missing-privileges';
import type { GrantedSchema } from './roles/role-grants';

/** A database as one of our processes uses it. */
export interface UsedSchema {
  readonly database: 'core' | 'ct';
  /** The setting that names the database. */
  readonly setting: string;
  /** In which TypeORM records the migrations that ran. */
  readonly migrationsTable: string;
  /** Of this release: classes whose names end with a timestamp; the newest comes last. */
  readonly migrations: readonly (new () => object)[];
  /** Absent: its grants are not checked. */
  readonly grants?: GrantedSchema;
}

/** Runs one statement. */
export type Query = (text: string) => Promise<readonly object[]>;

export type SchemaState =
  | { readonly kind: 'current' }
  /** Every release runs without its newest migration. */
  | { readonly kind: 'newest_missing'; readonly migration: string }
  | { readonly kind: 'older'; readonly migration: string }
  /** `migrate` of this release has not run, or has not come to the grants yet. */
  | { readonly kind: 'ungranted'; readonly privilege: string }
  /** A later release has removed what this one uses. */
  | { readonly kind: 'newer'; readonly minimum: string }
  /** The role may not read the table: a later run of `migrate` grants it. */
  | { readonly kind: 'unknown' };

const undefinedTable = '42P01';
const insufficientPrivilege = '42501';

/**
 * Compares the migrations of the database with those of this release. Unknown ones do no harm, unless a comment on the table
 * of migrations says `minimum_migration=<timestamp>`: the migration that sets it removed what releases without the
 * named migration use.
 *
 * @param process whose grants are checked too; what they are about may be missing with the newest migration
 * @throws Error when the database cannot be read
 */
export async function schemaState(
  query: Query,
  { migrationsTable, migrations, grants }: UsedSchema,
  process?: string,
): Promise<SchemaState> {
  const known = migrations.map(({ name }) => name);
  const newest = known.at(-1) ?? '';
  const [row] = (await query(
    `SELECT obj_description(to_regclass('${migrationsTable}'), 'pg_class') AS comment`,
  )) as { comment: string | null }[];
  const minimum = /^minimum_migration=(\d{13})$/.exec(row?.comment ?? '')?.[1] ?? '';
  if (minimum > timestampOf(newest)) return { kind: 'newer', minimum };
  const applied = await appliedMigrations(query, migrationsTable);
  if (applied === null) return { kind: 'unknown' };
  const missing = known.find((name) => !applied.has(name));
  if (missing !== undefined && (missing !== newest || applied.size === 0))
    return { kind: 'older', migration: missing };
  const role = process === undefined ? undefined : grants?.roles[process];
  const [privilege] = role === undefined ? [] : await missingPrivileges(query, role);
  if (privilege !== undefined) return { kind: 'ungranted', privilege };
  return missing === undefined ? { kind: 'current' } : { kind: 'newest_missing', migration: missing };
}

const timestampOf = (migration: string): string => migration.slice(-13);

async function appliedMigrations(query: Query, table: string): Promise<ReadonlySet<string> | null> {
  try {
    const rows = (await query(`SELECT name FROM ${table}`)) as { name: string }[];
    return new Set(rows.map(({ name }) => name));
  } catch (error) {
    const { code, driverError } = error as {
      readonly code?: string;
      readonly driverError?: { readonly code?: string };
    };
    const sqlState = driverError?.code ?? code;
    if (sqlState === undefinedTable) return new Set();
    if (sqlState === insufficientPrivilege) return null;
    throw error;
  }
}

const howToMigrate = 'run "npm run migrate" of this release';

/** @throws StartFault when the schema does not fit, in one line that names the setting */
function assertFits(state: SchemaState, { database, setting, migrations }: UsedSchema): void {
  if (state.kind === 'older')
    throw new StartFault(
      `${setting}: the ${database} schema lacks the migration ${state.migration}; ${howToMigrate}, or correct ${setting}`,
    );
  if (state.kind === 'ungranted')
    throw new StartFault(
      `${setting}: the database role lacks the privilege ${state.privilege}; ${howToMigrate}, or correct ${setting}`,
    );
  if (state.kind === 'newer')
    throw new StartFault(
      `${setting}: the ${database} schema needs a release with the migration ${state.minimum}, and the newest one of this release is ` +
        `${timestampOf(migrations.at(-1)?.name ?? '')}; start a newer release, or correct ${setting}`,
    );
}

export interface AwaitSchemaOptions {
  /** Whose grants are awaited too. */
  readonly process?: string;
  readonly log: { warn(members: object, message: string): void };
  /** Between two looks at an older schema, ms. Default: 2,000. */
  readonly everyMs?: number;
}

/**
 * Resolves when the schema fits. A process of a new release that starts before its migrations waits for them, and is not
 * ready until then.
 *
 * @throws StartFault when the schema is of a later release that removed what this one uses
 */
export async function awaitSchema(
  query: Query,
  schema: UsedSchema,
  { process, log, everyMs = 2_000 }: AwaitSchemaOptions,
): Promise<void> {
  const { database, setting } = schema;
  let state = await schemaState(query, schema, process);
  if (state.kind === 'older') {
    const { migration } = state;
    log.warn(
      { database, setting, migration },
      `not ready: the ${database} schema lacks a migration; ${howToMigrate}, or correct ${setting}`,
    );
  }
  if (state.kind === 'ungranted') {
    const { privilege } = state;
    log.warn(
      { database, setting, privilege },
      `not ready: the database role lacks a privilege; ${howToMigrate}, or correct ${setting}`,
    );
  }
  while (state.kind === 'older' || state.kind === 'ungranted') {
    await delay(everyMs);
    // The database may be down meanwhile.
    state = await schemaState(query, schema, process).catch(() => state);
  }
  assertFits(state, schema);
  if (state.kind === 'newest_missing')
    log.warn(
      { database, setting, migration: state.migration },
      `the newest migration is missing, which this release does not need yet; ${howToMigrate}`,
    );
}

/**
 * The same as a readiness check, for a process that starts while the database is down. It passes while the database cannot
 * be read, which another check reports, and does not query again once the schema has fitted.
 */
export function schemaCheck(query: Query, schema: UsedSchema, process?: string): () => Promise<void> {
  let hasFitted = false;
  return async () => {
    if (hasFitted) return;
    const state = await schemaState(query, schema, process).catch(() => null);
    if (state === null) return;
    assertFits(state, schema);
    hasFitted = true;
  };
}

/** The clock of the database server, for a readiness check: the check compares it with the clock of this machine. */
export async function databaseTime(
  query: Query,
  setting: string,
): Promise<{ readonly serverTimeMs: number; readonly setting: string }> {
  const [row] = (await query(`SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms`)) as {
    ms: string;
  }[];
  return { serverTimeMs: Number(row?.ms), setting };
}
