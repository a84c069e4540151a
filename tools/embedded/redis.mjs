// @ts-check
// A Redis on loopback without persistence: it holds wake-ups, which PostgreSQL can always re-create.
import { mkdirSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { launch, stopChild, untilReady } from './child.mjs';
import { freePort, LOOPBACK } from './ports.mjs';
import { processesIn, stopProcess } from './process.mjs';

const READY_WITHIN_MS = 15_000;
/** Nothing is written at shutdown, so it is immediate. */
const SHUTDOWN_WITHIN_MS = 5_000;
const PORT_ATTEMPTS = 3;
const PROBE_TIMEOUT_MS = 1_000;
/** The default of Redis. */
const DATABASES = 16;

/**
 * @typedef {object} Redis
 * @property {number} port
 * @property {import('./child.mjs').Child} child
 * @property {string} url
 * @property {() => Promise<void>} stop
 */

/**
 * Starts Redis. A server that still runs with the same folder is stopped first.
 * @param {object} options
 * @param {import('./redis-binaries.mjs').RedisBinary} options.binary
 * @param {string} options.folder working directory; gets `redis.log`
 * @param {number} [options.port] default: any free one
 * @param {number} [options.databases] how many logical databases; default 16
 * @param {Readonly<Record<string, string>>} [options.more] further settings, such as those of a Cluster
 * @param {string} [options.pidFile]
 * @param {AbortSignal} [options.signal]
 * @returns {Promise<Redis>}
 */
export async function startRedis(options) {
  const { binary, folder, port: wanted, databases = DATABASES, more = {}, pidFile, signal } = options;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  await clearRedis(folder);
  for (let attempt = 1; ; attempt += 1) {
    const port = wanted ?? (await freePort());
    const child = await launch({
      command: binary.command,
      args: settings(folder, port, databases, more),
      cwd: folder,
      env: { ...process.env, ...binary.env },
      logFile: path.join(folder, 'redis.log'),
      pidFile,
    });
    try {
      const probe = () => respondsAs(port, child.pid);
      await untilReady(probe, { child, what: 'Redis', withinMs: READY_WITHIN_MS, signal });
      const stop = () => stopChild(child, { graceMs: SHUTDOWN_WITHIN_MS });
      return { port, child, url: `redis://${LOOPBACK}:${port}`, stop };
    } catch (error) {
      await stopChild(child, { graceMs: SHUTDOWN_WITHIN_MS });
      const lost = /Address already in use/.test(String(error));
      if (!lost || wanted !== undefined || attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

/** @param {string} folder */
export async function clearRedis(folder) {
  for (const pid of processesIn(folder, 'redis-server'))
    await stopProcess(pid, { graceMs: SHUTDOWN_WITHIN_MS });
}

/**
 * @param {string} folder
 * @param {number} port
 * @param {number} databases
 * @param {Readonly<Record<string, string>>} more
 */
function settings(folder, port, databases, more) {
  return Object.entries({
    bind: LOOPBACK,
    port: String(port),
    'protected-mode': 'yes',
    dir: folder,
    databases: String(databases),
    save: '',
    appendonly: 'no',
    // Evicted keys would be lost jobs; a full Redis refuses writes instead, which clients notice.
    'maxmemory-policy': 'noeviction',
    ...more,
  }).flatMap(([name, value]) => [`--${name}`, value]);
}

/**
 * Compares the pid, because another program may have taken the port.
 * @param {number} port
 * @param {number} pid
 * @returns {Promise<boolean>}
 */
function respondsAs(port, pid) {
  return new Promise((resolve) => {
    let reply = '';
    const socket = net.connect({ host: LOOPBACK, port });
    const settle = (/** @type {boolean} */ ready) => {
      socket.destroy();
      resolve(ready);
    };
    socket.setTimeout(PROBE_TIMEOUT_MS, () => settle(false));
    socket.once('error', () => settle(false));
    socket.once('connect', () => socket.write('INFO server\r\n'));
    socket.setEncoding('latin1').on('data', (text) => {
      reply += text;
      const found = /\bprocess_id:(\d+)\r/.exec(reply)?.[1];
      if (found !== undefined || /^-/.test(reply)) settle(Number(found) === pid);
    });
    socket.once('end', () => settle(false));
  });
}
