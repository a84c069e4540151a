// @ts-check
// A PostgreSQL on loopback with a data folder of its own, which the first start creates.
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { launch, run, stopChild, untilReady } from './child.mjs';
import { freePort, LOOPBACK } from './ports.mjs';
import { POSTGRES_MAJOR, postgresBinaries } from './postgres-binaries.mjs';
import { isGone, processesIn, readPid, send, stopProcess } from './process.mjs';
import { identityFor } from './unprivileged.mjs';

const USER = 'certwright';
/** Recovery after a crash replays at most one checkpoint's worth of log (max_wal_size 1 GiB); allows for a slow disk. */
const READY_WITHIN_MS = 60_000;
/** A fast shutdown ends sessions and writes one checkpoint; after this, the next start recovers instead. */
const SHUTDOWN_WITHIN_MS = 30_000;
/** Another program may take a free port between our check and the server's bind. */
const PORT_ATTEMPTS = 3;

/**
 * English messages, which the code below matches. Without a valid locale the server does not start on macOS
 * ("postmaster became multithreaded during startup").
 */
const LOCALE = { LC_ALL: 'C' };

/** Settings of a temporary database; each of the first three loses data when the machine stops. */
const TEMPORARY = [
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
  // In the data folder instead of /dev/shm, where segments of a killed server would remain.
  'dynamic_shared_memory_type=mmap',
  // User, application and SQLSTATE, which tools/grants reads.
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
 * Starts the server and waits until it accepts connections. A server that still runs with the same folder is stopped first,
 * and leftovers of a killed one are removed; PostgreSQL does the crash recovery.
 * @param {object} options
 * @param {string} options.workspaceRoot contains node_modules
 * @param {string} options.folder gets `data`, `password` (0600) and `postgres.log`
 * @param {readonly string[]} [options.databases] created together with the folder, not later
 * @param {number} [options.port] default: any free one
 * @param {boolean} [options.durable] default true; false only for temporary data
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
 * Ends every server process of this folder, and removes a stale `postmaster.pid`. After a reboot its pid may belong to
 * another process, and PostgreSQL would refuse to start. It may be removed only when no backend is left, because two servers
 * with one folder destroy the data.
 * @param {string} folder
 */
export async function clearPostgres(folder) {
  await stopServer(folder);
  await killServer(folder);
  rmSync(path.join(folder, 'data/postmaster.pid'), { force: true });
}

/**
 * Created in a temporary folder and renamed when complete, so that an interrupted first start leaves nothing that looks like
 * a database. The databases are created in single-user mode, which needs no client library.
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
  // The same order of text on every machine, independent of its locales.
  initdb.push('-E', 'UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8');
  // Thousands of connections to temporary data need no hash that resists guessing.
  if (!durable) initdb.push('--no-sync', '-c', 'scram_iterations=1');
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
    // About ten connections per app, a dozen apps, and a reserve for users.
    'max_connections=200',
    'timezone=UTC',
    'log_timezone=UTC',
    ...(durable ? [] : TEMPORARY),
  ];
  const argv = [...identity.prefix, binary, '-D', data, ...settings.flatMap((setting) => ['-c', setting])];
  const child = await launch({
    command: argv[0] ?? binary,
    args: argv.slice(1),
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
    // killServer finds processes by their working directory, which a new process has not set yet.
    await stopChild(child, { signal: 'SIGKILL' });
    await killServer(folder);
    throw error;
  }
  return child;
}

/** A server that accepts connections; the second one is a replica. */
const READY_STATES = ['ready', 'standby'];

/**
 * The eighth line of postmaster.pid is the state of the server; pg_ctl waits for the same.
 * @param {string} data
 * @param {number} pid
 */
function isReady(data, pid) {
  const lines = readFileSync(path.join(data, 'postmaster.pid'), 'utf8').split('\n');
  return Number(lines[0]) === pid && READY_STATES.includes(lines[7]?.trim() ?? '');
}

/** @param {string} folder */
async function stopServer(folder) {
  const postmaster = readPid(path.join(folder, 'data/postmaster.pid'));
  if (postmaster === undefined || !serverProcesses(folder).includes(postmaster)) return;
  const orderly = await stopProcess(postmaster, { signal: 'SIGINT', graceMs: SHUTDOWN_WITHIN_MS });
  if (!orderly) await killServer(folder);
}

/**
 * Backends are in sessions of their own and may run longer than the postmaster, so each is killed by its pid.
 * @param {string} folder
 */
async function killServer(folder) {
  const all = serverProcesses(folder);
  for (const pid of all) send(pid, 'SIGKILL');
  for (const pid of all) {
    if (!(await isGone(pid, 5_000)))
      throw new Error(`The PostgreSQL process ${pid} does not exit after SIGKILL.`);
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
    `${data} was created by PostgreSQL ${found}; this is ${POSTGRES_MAJOR}. ` +
      'Move the folder elsewhere to start with an empty database, or set DATABASE_URL to a server of your own.',
  );
}

/**
 * @param {import('./unprivileged.mjs').Identity} identity
 * @param {readonly string[]} argv
 * @param {{ input?: string, signal?: AbortSignal }} how
 */
function runAs({ prefix, uid, gid }, argv, how) {
  const [command, ...args] = [...prefix, ...argv];
  return run(String(command), args, { ...how, uid, gid, env: { ...process.env, ...LOCALE } });
}
