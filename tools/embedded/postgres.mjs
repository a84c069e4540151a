// @ts-check
// One real PostgreSQL in a folder of its own: made on the first start, found again on the next, on loopback only.
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { launch, run, stopChild, untilReady } from './child.mjs';
import { freePort, LOOPBACK } from './ports.mjs';
import { POSTGRES_MAJOR, postgresBinaries } from './postgres-binaries.mjs';
import { isGone, processesIn, readPid, send, stopProcess } from './process.mjs';
import { identityFor } from './unprivileged.mjs';

const USER = 'certwright';
/** Recovery after a crash replays at most one checkpoint's worth of log (max_wal_size 1 GiB); a slow disk needs this. */
const READY_WITHIN_MS = 60_000;
/** A fast shutdown ends sessions and writes one checkpoint; past this the next start recovers instead. */
const SHUTDOWN_WITHIN_MS = 30_000;
/** Another program may take a free port between our look and the server's bind. */
const PORT_ATTEMPTS = 3;

/**
 * English messages, which are recognised below. Without a valid locale the server does not start on macOS
 * ("postmaster became multithreaded during startup").
 */
const LOCALE = { LC_ALL: 'C' };

/** What a database that is thrown away does without; each of the first three loses data when the machine stops. */
const THROWN_AWAY = [
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
  // In the data folder instead of /dev/shm, where a killed server's segments would outlive the folder.
  'dynamic_shared_memory_type=mmap',
  // User, application and SQLSTATE, by which tools/grants reads what each role did.
  'log_line_prefix=%u|%a|%e ',
];

/**
 * @typedef {object} Postgres
 * @property {number} port
 * @property {import('./child.mjs').Child} child
 * @property {(database?: string) => string} url for the superuser; default: the first of `databases`
 * @property {() => Promise<void>} stop fast shutdown: sessions are ended, data is written
 * @property {() => Promise<void>} kill as a power cut would; the next start recovers from the log
 */

/**
 * Starts the server and waits until it takes connections. A server that still runs on the same folder is stopped first,
 * and what a killed one left behind is cleared; crash recovery is PostgreSQL's own.
 * @param {object} options
 * @param {string} options.workspaceRoot holds node_modules
 * @param {string} options.folder gets `data`, `password` (0600) and `postgres.log`
 * @param {readonly string[]} [options.databases] created together with the folder, not later
 * @param {number} [options.port] default: any free one
 * @param {boolean} [options.durable] default true; false only where the data is thrown away
 * @param {string} [options.pidFile]
 * @param {AbortSignal} [options.signal]
 * @returns {Promise<Postgres>}
 */
export async function startPostgres(options) {
  const { workspaceRoot, folder, databases = [USER], durable = true, pidFile, signal } = options;
  const binaries = postgresBinaries(workspaceRoot);
  const data = path.join(folder, 'data');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  await clearPostgres(folder);
  const identity = identityFor(folder);
  if (!existsSync(path.join(data, 'PG_VERSION'))) {
    await createCluster({ folder, binaries, identity, databases, durable, signal });
  }
  requireMajor(data);
  const password = readFileSync(path.join(folder, 'password'), 'utf8');
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port ?? (await freePort());
    try {
      const child = await startServer({
        folder,
        binary: binaries.postgres,
        identity,
        port,
        durable,
        pidFile,
        signal,
      });
      const url = (database = databases[0] ?? USER) =>
        `postgresql://${USER}:${password}@${LOOPBACK}:${port}/${database}`;
      return { port, child, url, stop: () => stopServer(folder), kill: () => killServer(folder) };
    } catch (error) {
      const lost = /could not bind|could not create any TCP\/IP sockets/.test(String(error));
      if (!lost || options.port !== undefined || attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

/**
 * Ends every server process that works on this folder, and removes a `postmaster.pid` that outlived its server. After a
 * reboot its number may belong to a stranger, and PostgreSQL would refuse to start; but it may be removed only when no
 * backend is left, for two servers on one folder destroy it.
 * @param {string} folder
 */
export async function clearPostgres(folder) {
  await stopServer(folder);
  await killServer(folder);
  rmSync(path.join(folder, 'data/postmaster.pid'), { force: true });
}

/**
 * Made beside its final place and moved there when complete, so that an interrupted first start leaves nothing that
 * looks like a database. The databases are created in single-user mode: no client library is needed.
 * @param {{ folder: string, binaries: { initdb: string, postgres: string }, databases: readonly string[],
 *   identity: import('./unprivileged.mjs').Identity, durable: boolean, signal?: AbortSignal }} what
 */
async function createCluster({ folder, binaries, databases, identity, durable, signal }) {
  const unfinished = path.join(folder, 'data.unfinished');
  const passwordFile = path.join(folder, 'password');
  rmSync(unfinished, { recursive: true, force: true });
  rmSync(passwordFile, { force: true });
  writeFileSync(passwordFile, randomBytes(24).toString('hex'), { mode: 0o600 });
  if (identity.uid !== undefined && identity.gid !== undefined)
    chownSync(passwordFile, identity.uid, identity.gid);
  const initdb = [
    binaries.initdb,
    '-D',
    unfinished,
    '-U',
    USER,
    `--pwfile=${passwordFile}`,
    '-A',
    'scram-sha-256',
  ];
  // One order of text on every machine, whatever locales the system has.
  initdb.push('-E', 'UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8');
  if (!durable) initdb.push('--no-sync');
  await runAs(identity, initdb, { signal });
  const statements = databases.map((name) => `CREATE DATABASE "${name}"\n`).join('');
  const single = [binaries.postgres, '--single', '-D', unfinished, 'postgres'];
  const { stderr } = await runAs(identity, single, { input: statements, signal });
  if (/\b(ERROR|FATAL|PANIC):/.test(stderr))
    throw new Error(`The databases could not be created.\n${stderr}`);
  renameSync(unfinished, path.join(folder, 'data'));
}

/**
 * @param {{ folder: string, binary: string, identity: import('./unprivileged.mjs').Identity, port: number,
 *   durable: boolean, pidFile?: string, signal?: AbortSignal }} what
 */
async function startServer({ folder, binary, identity, port, durable, pidFile, signal }) {
  const data = path.join(folder, 'data');
  const settings = [
    `listen_addresses=${LOOPBACK}`,
    `port=${port}`,
    'unix_socket_directories=',
    // About ten connections per app, a dozen apps, and room for people.
    'max_connections=200',
    'timezone=UTC',
    'log_timezone=UTC',
    ...(durable ? [] : THROWN_AWAY),
  ];
  const words = [...identity.prefix, binary, '-D', data, ...settings.flatMap((setting) => ['-c', setting])];
  const child = await launch({
    command: words[0] ?? binary,
    args: words.slice(1),
    env: { ...process.env, ...LOCALE },
    logFile: path.join(folder, 'postgres.log'),
    pidFile,
    uid: identity.uid,
    gid: identity.gid,
  });
  try {
    const probe = () => isReady(data, child.pid);
    await untilReady(probe, { child, what: 'PostgreSQL', withinMs: READY_WITHIN_MS, signal });
  } catch (error) {
    // One that has just begun does not work in its folder yet, by which the others are found.
    await stopChild(child, { signal: 'SIGKILL' });
    await killServer(folder);
    throw error;
  }
  return child;
}

/**
 * The eighth line of postmaster.pid is the server's own word about its state; pg_ctl waits for the same.
 * @param {string} data
 * @param {number} pid
 */
function isReady(data, pid) {
  const lines = readFileSync(path.join(data, 'postmaster.pid'), 'utf8').split('\n');
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
}

/** @param {string} folder */
async function stopServer(folder) {
  const postmaster = readPid(path.join(folder, 'data/postmaster.pid'));
  if (postmaster === undefined || !serverProcesses(folder).includes(postmaster)) return;
  const orderly = await stopProcess(postmaster, { signal: 'SIGINT', graceMs: SHUTDOWN_WITHIN_MS });
  if (!orderly) await killServer(folder);
}

/**
 * Backends are in sessions of their own and may outlive the postmaster for a while, so each is killed by its number.
 * @param {string} folder
 */
async function killServer(folder) {
  const all = serverProcesses(folder);
  for (const pid of all) send(pid, 'SIGKILL');
  for (const pid of all) {
    if (!(await isGone(pid, 5_000))) throw new Error(`PostgreSQL process ${pid} does not end.`);
  }
}

/** @param {string} folder */
function serverProcesses(folder) {
  return processesIn(path.join(folder, 'data'), 'postgres');
}

/** @param {string} data */
function requireMajor(data) {
  const found = readFileSync(path.join(data, 'PG_VERSION'), 'utf8').trim();
  if (found === POSTGRES_MAJOR) return;
  throw new Error(
    `${data} was made by PostgreSQL ${found}; this is ${POSTGRES_MAJOR}. ` +
      'Move the folder away to start with an empty database, or set DATABASE_URL to a server of your own.',
  );
}

/**
 * @param {import('./unprivileged.mjs').Identity} identity
 * @param {readonly string[]} words
 * @param {{ input?: string, signal?: AbortSignal }} how
 */
function runAs({ prefix, uid, gid }, words, how) {
  const [command, ...args] = [...prefix, ...words];
  return run(String(command), args, { ...how, uid, gid, env: { ...process.env, ...LOCALE } });
}
