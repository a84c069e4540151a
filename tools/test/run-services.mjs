// @ts-check
// The real PostgreSQL and Redis of one test run, and the migrated database from which every spec's own is copied.
import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statfsSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { freemem } from 'node:os';
import path from 'node:path';
import { bundle } from '../build/bundle.mjs';
import { run } from '../embedded/child.mjs';
import { pgbouncerBinary, startPgbouncer } from '../embedded/pgbouncer.mjs';
import { startPostgres } from '../embedded/postgres.mjs';
import {
  commandLine,
  isAlive,
  processesIn,
  processesWithSetting,
  stopProcess,
} from '../embedded/process.mjs';
import { redisBinary } from '../embedded/redis-binaries.mjs';
import { startRedis } from '../embedded/redis.mjs';
import { places } from '../up/home.mjs';
import { requireParts } from '../up/requirements.mjs';
import { nodeBinary, workspaceRoot } from '../up/workspace.mjs';

/** One folder per run, named by the pid of who runs it: several runs at a time do not meet. */
const RUNS = path.join(workspaceRoot, '.certwright', 'test');
/** Each spec that uses Redis takes one logical database; more than there are spec files. */
const REDIS_DATABASES = 1024;
/** Each ends a whole generation; nothing here starts that many. */
const CLEARING_ROUNDS = 10;
const END_WITHIN_MS = 3_000;
/** Below the folder of a run. */
const QUICK = 'quick';
const POOLER = 'pgbouncer';
/** Linux: files in memory. */
const MEMORY_FILES = '/dev/shm';
/** Bytes; a whole run writes less than one GiB at a time. */
const MEMORY_NEEDED = 4 * 2 ** 30;

/**
 * What specs find in their environment; `@certwright/testing` reads it.
 * @typedef {object} TestServices
 * @property {string} CERTWRIGHT_TEST_DATABASE_URL a database in which specs create and drop their own
 * @property {string} CERTWRIGHT_TEST_TEMPLATE name of the migrated database
 * @property {string} CERTWRIGHT_TEST_ROLE_PREFIX begins the names of the roles of processes
 * @property {string} CERTWRIGHT_TEST_REDIS_URL
 * @property {string} [CERTWRIGHT_TEST_POOLER_PORT] of a PgBouncer between specs and their databases; DATABASE_POOLER is its kind
 * @property {string} [DATABASE_POOLER] of the processes that specs start
 * @property {string} CERTWRIGHT_TEST_RUN folder of this run, for files that end with it; also the mark of its processes
 */

/** @param {string} template */
const rolePrefixOf = (template) => template.replace(/template$/, '');

/** @param {number} pid */
export function runFolder(pid) {
  return path.join(RUNS, String(pid));
}

/**
 * For what is created and removed in thousands: each spec's database is 600 files, and each worker writes a thousand
 * compiled modules, which takes as much time on a disk as the tests. In memory if there is room.
 * @param {string} folder of the run
 */
export function quickFolder(folder) {
  const quick = path.join(folder, QUICK);
  if (existsSync(quick)) return quick;
  mkdirSync(folder, { recursive: true });
  if (hasMemoryFor(MEMORY_NEEDED))
    symlinkSync(mkdtempSync(path.join(MEMORY_FILES, 'certwright-test-')), quick);
  else mkdirSync(quick);
  return quick;
}

/**
 * @param {string} folder
 * @returns {Promise<{ services: TestServices, stop: () => Promise<void> }>}
 */
export async function startServices(folder) {
  mkdirSync(folder, { recursive: true });
  await clearAbandonedRuns();
  const template = `certwright_test_${randomBytes(4).toString('hex')}_template`;
  const { DATABASE_URL_TEST, REDIS_URL_TEST } = process.env;
  requireParts({
    workspaceRoot,
    redisCache: places.redisBinaries,
    postgres: DATABASE_URL_TEST ? undefined : 'DATABASE_URL_TEST',
    redis: REDIS_URL_TEST ? undefined : 'REDIS_URL_TEST',
  });
  /** @type {(() => Promise<void>)[]} */
  const undo = [];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step();
    removeFiles(folder);
  };
  try {
    const databaseUrl = DATABASE_URL_TEST ?? (await temporaryPostgres(folder, undo));
    const redisUrl = REDIS_URL_TEST ?? (await temporaryRedis(folder, undo));
    if (DATABASE_URL_TEST) undo.push(() => dropDatabases(databaseUrl, template));
    await createRoles(databaseUrl, rolePrefixOf(template), { isLogged: !DATABASE_URL_TEST });
    await makeTemplate({ databaseUrl, template, folder });
    const pooler = await poolerOf(folder, { databaseUrl, rolePrefix: rolePrefixOf(template) }, undo);
    const services = {
      ...pooler,
      CERTWRIGHT_TEST_DATABASE_URL: databaseUrl,
      CERTWRIGHT_TEST_TEMPLATE: template,
      CERTWRIGHT_TEST_ROLE_PREFIX: rolePrefixOf(template),
      CERTWRIGHT_TEST_REDIS_URL: redisUrl,
      CERTWRIGHT_TEST_RUN: folder,
    };
    return { services, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Ends whatever still runs for this run, in whichever group it is, and removes its files. Not from within the run itself.
 * @param {string} folder
 * @param {{ keepFiles?: boolean }} [how]
 */
export async function clearRun(folder, { keepFiles = false } = {}) {
  // Again until no process is found: one of them may have started another while we looked.
  for (let round = 0; round < CLEARING_ROUNDS; round += 1) {
    const offspring = processesWithSetting('CERTWRIGHT_TEST_RUN', folder);
    await endAll(offspring, 'SIGKILL');
    // The second are servers of specs.
    const servers = [
      ...processesIn(path.join(folder, QUICK), 'postgres'),
      ...processesIn(folder, 'postgres'),
      ...processesIn(folder, 'redis-server'),
      ...processesIn(path.join(folder, POOLER), 'pgbouncer'),
    ];
    // To PostgreSQL an immediate shutdown: the data is discarded, shared memory is freed.
    await endAll(servers, 'SIGQUIT');
    if (offspring.length + servers.length === 0) break;
  }
  if (!keepFiles) removeFiles(folder);
}

/** @param {string} folder of a run whose processes have ended */
function removeFiles(folder) {
  const quick = path.join(folder, QUICK);
  // A killed initdb's own children may still be writing.
  const how = { recursive: true, force: true, maxRetries: 10, retryDelay: 100 };
  if (existsSync(quick)) rmSync(realpathSync(quick), how);
  rmSync(folder, how);
}

/**
 * @param {readonly number[]} pids
 * @param {NodeJS.Signals} signal
 */
async function endAll(pids, signal) {
  await Promise.all(pids.map((pid) => stopProcess(pid, { signal, graceMs: END_WITHIN_MS })));
}

/** What a test run left that was killed together with the processes that clear up after it. */
async function clearAbandonedRuns() {
  for (const name of readFolder(RUNS)) {
    const pid = Number.parseInt(name, 10);
    const isRunning = isAlive(pid) && /jest|tools\/test\//.test(commandLine(pid));
    if (!isRunning) await clearRun(path.join(RUNS, name));
  }
}

/**
 * @param {string} folder
 * @param {(() => Promise<void>)[]} undo
 */
async function temporaryPostgres(folder, undo) {
  const own = path.join(quickFolder(folder), 'postgres');
  const server = await startPostgres({ workspaceRoot, folder: own, databases: [], durable: false });
  undo.push(server.stop);
  return server.url('postgres');
}

/**
 * With TEST_POOLER=transaction or transaction-prepared, specs and the code under test connect through PgBouncer.
 * @param {string} folder
 * @param {{ databaseUrl: string, rolePrefix: string }} where
 * @param {(() => Promise<void>)[]} undo
 */
async function poolerOf(folder, { databaseUrl, rolePrefix }, undo) {
  const { TEST_POOLER: kind } = process.env;
  if (!kind) return {};
  if (kind !== 'transaction' && kind !== 'transaction-prepared')
    throw new Error('TEST_POOLER must be transaction or transaction-prepared.');
  const binary = pgbouncerBinary();
  if (binary === undefined)
    throw new Error(
      'TEST_POOLER needs PgBouncer: install it (tools/test/peers.sh), or set PGBOUNCER to its path.',
    );
  const { username, password, port } = new URL(databaseUrl);
  const roles = [decodeURIComponent(username), ...rolesOf(rolePrefix)];
  const server = await startPgbouncer({
    binary,
    folder: path.join(folder, POOLER),
    postgresPort: Number(port),
    passwords: Object.fromEntries(roles.map((role) => [role, decodeURIComponent(password)])),
    settings: kind === 'transaction-prepared' ? { max_prepared_statements: 200 } : {},
  });
  undo.push(server.stop);
  return { CERTWRIGHT_TEST_POOLER_PORT: String(server.port), DATABASE_POOLER: kind };
}

/** @param {number} bytes */
function hasMemoryFor(bytes) {
  if (process.platform !== 'linux' || !existsSync(MEMORY_FILES)) return false;
  const { bavail, bsize } = statfsSync(MEMORY_FILES);
  return bavail * bsize >= bytes && freemem() >= 2 * bytes;
}

/**
 * @param {string} folder
 * @param {(() => Promise<void>)[]} undo
 */
async function temporaryRedis(folder, undo) {
  const binary = await redisBinary({ cache: places.redisBinaries, report: (line) => console.log(line) });
  const server = await startRedis({ binary, folder: path.join(folder, 'redis'), databases: REDIS_DATABASES });
  undo.push(server.stop);
  return server.url;
}

/** @param {string} prefix */
const rolesOf = (prefix) =>
  readdirSync(path.join(workspaceRoot, 'apps')).map((app) => `${prefix}${app.replaceAll('-', '_')}`);

/**
 * A role for each app, with the password of the run's own user. Which of them have grants is said by the schemas.
 * @param {string} databaseUrl
 * @param {string} prefix
 * @param {{ isLogged: boolean }} how isLogged: the server logs their statements, for tools/grants; a superuser can say so
 */
async function createRoles(databaseUrl, prefix, { isLogged }) {
  const password = decodeURIComponent(new URL(databaseUrl).password).replaceAll("'", "''");
  for (const name of rolesOf(prefix)) {
    const role = `"${name}"`;
    await query(databaseUrl, `CREATE ROLE ${role} LOGIN PASSWORD '${password}'`);
    if (!isLogged) continue;
    await query(databaseUrl, `ALTER ROLE ${role} SET log_statement = 'all'`);
    await query(databaseUrl, `ALTER ROLE ${role} SET log_parameter_max_length = 0`);
  }
}

/**
 * The migrations run once, as they run in production; copying the result takes a few milliseconds per spec.
 * @param {{ databaseUrl: string, template: string, folder: string }} what
 */
async function makeTemplate({ databaseUrl, template, folder }) {
  // Beside the run's other files, not in dist/: another run may be writing there at this moment.
  const outdir = path.relative(workspaceRoot, path.join(folder, 'migrate'));
  await bundle({ main: 'tools/migrate/main.ts' }, outdir);
  await createRequire(import.meta.url)('esbuild').stop();
  await query(databaseUrl, `CREATE DATABASE "${template}"`);
  const url = new URL(databaseUrl);
  url.pathname = `/${template}`;
  const env = {
    ...process.env,
    DATABASE_URL: url.href,
    DATABASE_ROLE_PREFIX: rolePrefixOf(template),
  };
  await run(
    nodeBinary(),
    ['--enable-source-maps', path.join(folder, 'migrate/main.js'), '--database', 'core'],
    { env },
  );
  // A database with a session open on it cannot be copied.
  await query(databaseUrl, `ALTER DATABASE "${template}" WITH ALLOW_CONNECTIONS false`);
}

/**
 * On a server that the run did not start, the template, what specs did not drop themselves, and the roles.
 * @param {string} databaseUrl
 * @param {string} template the specs' databases are named like it, with another ending
 */
async function dropDatabases(databaseUrl, template) {
  const prefix = template.replace(/template$/, '');
  const { rows } = await query(
    databaseUrl,
    'SELECT datname FROM pg_database WHERE starts_with(datname, $1)',
    [prefix],
  );
  for (const { datname } of rows)
    await query(databaseUrl, `DROP DATABASE IF EXISTS "${datname}" WITH (FORCE)`);
  const roles = await query(databaseUrl, 'SELECT rolname FROM pg_roles WHERE starts_with(rolname, $1)', [
    rolePrefixOf(template),
  ]);
  for (const { rolname } of roles.rows) await query(databaseUrl, `DROP ROLE IF EXISTS "${rolname}"`);
}

/**
 * @param {string} connectionString
 * @param {string} text
 * @param {readonly string[]} [values]
 */
async function query(connectionString, text, values = []) {
  const { Client } = createRequire(import.meta.url)('pg');
  const client = new Client({ connectionString });
  await client.connect();
  try {
    return await client.query(text, values);
  } finally {
    await client.end();
  }
}

/** @param {string} folder */
function readFolder(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
