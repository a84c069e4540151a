// @ts-check
// A PgBouncer on loopback, in transaction mode, in front of a PostgreSQL. It is a program of Debian: tools/test/peers.sh.
import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { launch, stopChild, untilReady } from './child.mjs';
import { freePort, LOOPBACK } from './ports.mjs';
import { identityFor } from './unprivileged.mjs';

const READY_WITHIN_MS = 15_000;
const SHUTDOWN_WITHIN_MS = 5_000;
const PORT_ATTEMPTS = 3;
/** Of a run of specs, with a database each. */
const CLIENTS = 1_000;
/** For each database and role. PostgreSQL has 200 for all. */
const SERVERS = 20;

/** Debian's is not on every PATH. */
const BINARIES = [process.env.PGBOUNCER, 'pgbouncer', '/usr/sbin/pgbouncer'];

/** @returns {string | undefined} the program; undefined: it is not installed */
export const pgbouncerBinary = () =>
  BINARIES.find((binary) => binary && spawnSync(binary, ['--version']).status === 0);

/**
 * @typedef {object} Pgbouncer
 * @property {number} port
 * @property {import('./child.mjs').Child} child
 * @property {() => Promise<void>} stop
 */

/**
 * @param {object} options
 * @param {string} options.binary
 * @param {string} options.folder gets `pgbouncer.ini`, `users` and `pgbouncer.log`
 * @param {number} options.postgresPort on loopback
 * @param {Readonly<Record<string, string>>} options.passwords of roles, by which it logs in to PostgreSQL
 * @param {Readonly<Record<string, string | number>>} [options.settings] of pgbouncer.ini
 * @returns {Promise<Pgbouncer>}
 */
export async function startPgbouncer({ binary, folder, postgresPort, passwords, settings = {} }) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const identity = identityFor(folder);
  const file = (/** @type {string} */ name, /** @type {string} */ text) => {
    const whole = path.join(folder, name);
    writeFileSync(whole, text, { mode: 0o600 });
    if (identity.uid !== undefined && identity.gid !== undefined)
      chownSync(whole, identity.uid, identity.gid);
    return whole;
  };
  const quoted = (/** @type {string} */ text) => `"${text.replaceAll('"', '""')}"`;
  const users = Object.entries(passwords).map(([role, password]) => `${quoted(role)} ${quoted(password)}\n`);
  const usersFile = file('users', users.join(''));
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    const all = {
      listen_addr: LOOPBACK,
      listen_port: port,
      unix_socket_dir: '',
      pool_mode: 'transaction',
      auth_type: 'scram-sha-256',
      auth_file: usersFile,
      admin_users: Object.keys(passwords)[0],
      max_client_conn: CLIENTS,
      default_pool_size: SERVERS,
      // A spec drops its database at its end.
      server_idle_timeout: 5,
      server_login_retry: 1,
      ...settings,
    };
    const ini = file(
      'pgbouncer.ini',
      `[databases]\n* = host=${LOOPBACK} port=${postgresPort}\n[pgbouncer]\n` +
        Object.entries(all)
          .map(([name, value]) => `${name} = ${value}\n`)
          .join(''),
    );
    const argv = [...identity.prefix, binary, ini];
    const child = await launch({
      command: argv[0] ?? binary,
      args: argv.slice(1),
      cwd: folder,
      logFile: path.join(folder, 'pgbouncer.log'),
      uid: identity.uid,
      gid: identity.gid,
    });
    const stop = () => stopChild(child, { signal: 'SIGINT', graceMs: SHUTDOWN_WITHIN_MS });
    try {
      await untilReady(() => accepts(port), { child, what: 'PgBouncer', withinMs: READY_WITHIN_MS });
      return { port, child, stop };
    } catch (error) {
      await stop();
      if (attempt === PORT_ATTEMPTS || !/in use/.test(String(error))) throw error;
    }
  }
}

/** @param {number} port @returns {Promise<boolean>} */
function accepts(port) {
  return new Promise((resolve) => {
    const socket = net.connect({ host: LOOPBACK, port });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
