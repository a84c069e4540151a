// @ts-check
// The data folder of `npm start`: its files, the lock of its supervisor, and start.json for other programs.
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { errorCode, isOurs, readPid, stopProcess } from '../embedded/process.mjs';
import { workspaceRoot } from './workspace.mjs';

/** Part of the command line of supervisors only. */
const SUPERVISOR = path.join('tools', 'up', 'start.mjs');

/**
 * @typedef {object} StartState content of start.json, for the demo, the tests and users
 * @property {number | null} supervisor pid; null when the system was stopped
 * @property {'sandbox'} mode
 * @property {Record<string, string>} apis name of the API → base URL, without a slash at its end
 * @property {string} api_key stored here because the platform shows it only once
 * @property {string} account_id
 * @property {string} resolver address and port of the demo DNS
 * @property {string} demo_zone
 * @property {import('./apps.mjs').DnsUpdateKey} dns_update_key signs updates of the demo DNS
 * @property {string} gateway base URL of the DNS gateway
 * @property {string} gateway_keys folder with its CA and the certificates of its clients
 * @property {string} dns_control base URL
 * @property {string} demo_log base URL of the demo Certificate Transparency logs
 * @property {string} mailbox base URL of the page that shows the sandbox's mail
 * @property {string} sandbox_root file with the root certificate of the sandbox's CA, PEM
 * @property {string} database_url
 * @property {string} ct_database_url
 * @property {string} redis_url
 * @property {Record<string, string>} ops app → base URL of its health and metrics
 * @property {Record<string, string>} pid_files process → file
 * @property {Record<string, string>} logs process → file
 */

export const home = path.resolve(workspaceRoot, process.env.CERTWRIGHT_HOME ?? '.certwright');

export const places = {
  postgres: path.join(home, 'postgres'),
  redis: path.join(home, 'redis'),
  redisBinaries: path.join(home, 'redis-binaries'),
  sealingKeys: path.join(home, 'sealing.keys'),
  caAccountKeys: path.join(home, 'ca-account.keys'),
  dnsUpdateKey: path.join(home, 'dns-update.key'),
  databasePasswords: path.join(home, 'database-passwords'),
  state: path.join(home, 'start.json'),
  lock: path.join(home, 'supervisor.pid'),
  /** The Unix socket at which `nx serve` takes over an app. */
  control: path.join(home, 'control.sock'),
  /** @param {string} name */
  pidFile: (name) => path.join(home, 'run', `${name}.pid`),
  /** @param {string} name */
  log: (name) => path.join(home, 'logs', `${name}.log`),
};

/**
 * A file with a key that encrypts secrets at rest: created once, readable only by its owner.
 * @param {string} file
 */
function keyFile(file) {
  if (!existsSync(file)) {
    writeFileSync(file, `${randomBytes(32).toString('base64')}\n`, { flag: 'wx', mode: 0o600 });
  }
  return file;
}

/** For secrets of webhooks. */
export const sealingKeysFile = () => keyFile(places.sealingKeys);

/** For the keys of accounts at CAs, which only the worker decrypts. */
export const caAccountKeysFile = () => keyFile(places.caAccountKeys);

/**
 * The password of an app's database role: created once, readable only by its owner.
 * @param {string} app
 */
export function databasePassword(app) {
  mkdirSync(places.databasePasswords, { recursive: true, mode: 0o700 });
  return readFileSync(keyFile(path.join(places.databasePasswords, app)), 'utf8').trim();
}

/**
 * The TSIG key for updates of the demo DNS: created once, readable only by its owner.
 * @returns {import('./apps.mjs').DnsUpdateKey}
 */
export function dnsUpdateKey() {
  const secret = readFileSync(keyFile(places.dnsUpdateKey), 'utf8').trim();
  return { name: 'demo', algorithm: 'hmac-sha256', secret };
}

/**
 * Creates the folder and locks it for this process. Throws when another supervisor has locked it or another user owns it.
 * @returns {() => void} releases the lock
 */
export function takeHome() {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const { uid } = statSync(home);
  const me = process.getuid?.();
  if (me !== undefined && me !== 0 && uid !== me) {
    throw new Error(
      `${home} belongs to another user. Remove it, or set CERTWRIGHT_HOME to a folder of your own.`,
    );
  }
  try {
    writeFileSync(places.lock, `${process.pid}\n`, { flag: 'wx' });
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    replaceStaleLock();
  }
  return () => {
    if (readPid(places.lock) === process.pid) rmSync(places.lock, { force: true });
  };
}

/** Whether an `npm start` has locked the folder; it may not be ready yet. */
export const isRunning = () => isOurs(readPid(places.lock), SUPERVISOR);

/** Two starts may find the same stale lock; the second one must not remove the new lock of the first. */
function replaceStaleLock() {
  const holder = readPid(places.lock);
  if (isOurs(holder, SUPERVISOR)) throw alreadyRunning(holder);
  const aside = `${places.lock}.${process.pid}`;
  renameSync(places.lock, aside);
  const moved = readPid(aside);
  if (moved !== holder) {
    renameSync(aside, places.lock);
    throw alreadyRunning(moved);
  }
  rmSync(aside);
  writeFileSync(places.lock, `${process.pid}\n`, { flag: 'wx' });
}

/** @param {number | undefined} pid */
function alreadyRunning(pid) {
  return new Error(
    `Certwright is already running from ${home} (pid ${pid}).\n` +
      `Its addresses are in ${places.state}. Stop it with Ctrl-C in its terminal, or: kill ${pid}`,
  );
}

/**
 * Stops processes that a killed supervisor left running. Checks more than the pid: the command line must name a program of
 * this workspace.
 * @param {(line: string) => void} report
 */
export async function stopOrphans(report) {
  const folder = path.dirname(places.pidFile('any'));
  mkdirSync(folder, { recursive: true });
  const files = readdirSync(folder).map((name) => path.join(folder, name));
  await Promise.all(
    files.map(async (file) => {
      const pid = readPid(file);
      if (isOurs(pid, path.join(workspaceRoot, 'dist') + path.sep)) {
        report(
          `Stopping ${path.basename(file, '.pid')} (pid ${pid}), which still runs from an earlier start.`,
        );
        await stopProcess(pid);
      }
      rmSync(file, { force: true });
    }),
  );
}

/** @returns {StartState | undefined} */
export function readState() {
  try {
    return JSON.parse(readFileSync(places.state, 'utf8'));
  } catch {
    return undefined;
  }
}

/**
 * Atomic for readers. Only the owner can read the file, because it contains the API key.
 * @param {StartState} state
 */
export function writeState(state) {
  const draft = `${places.state}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 });
  chmodSync(draft, 0o600);
  renameSync(draft, places.state);
}
