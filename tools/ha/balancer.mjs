// @ts-check
// HAProxy in front of every app and of PostgreSQL.
import { mkdirSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { stopChild, untilReady } from '../embedded/child.mjs';
import { LOOPBACK } from '../embedded/ports.mjs';
import { launchServer, program } from './programs.mjs';

const READY_WITHIN_MS = 15_000;
/** A copy that exits gets requests for up to this long. */
export const LEARNS_LATE_MS = 2_000;
/** Longer than the longest long poll. */
const IDLE = '240s';

/**
 * @typedef {object} Service
 * @property {string} name
 * @property {'http' | 'tcp'} mode
 * @property {number} port
 * @property {string} path of the health check
 * @property {string} check options of the health check
 * @property {readonly { port: number, healthPort: number }[]} servers
 */

/**
 * Repeats no request: a request that a stopped copy would have got fails.
 * @param {string} folder
 * @param {readonly Service[]} services
 * @param {AbortSignal} signal
 */
export async function startBalancer(folder, services, signal) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = path.join(folder, 'haproxy.cfg');
  writeFileSync(file, `${HEAD}${services.map(section).join('\n')}`, { mode: 0o644 });
  const [first] = services;
  const child = await launchServer({
    ...{ folder, name: 'haproxy', command: program('haproxy'), args: ['-db', '-f', file] },
  });
  const listens = async () => await accepts(first?.port ?? 0);
  await untilReady(listens, { child, what: 'HAProxy', withinMs: READY_WITHIN_MS, signal });
  return { stop: async () => await stopChild(child, { signal: 'SIGKILL' }) };
}

/** @param {number} port @returns {Promise<boolean>} */
function accepts(port) {
  return new Promise((resolve) => {
    const socket = net.connect(port, LOOPBACK);
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

const HEAD = `global
  maxconn 8000
defaults
  retries 0
  timeout connect 2s
  timeout client ${IDLE}
  timeout server ${IDLE}
  timeout http-keep-alive ${IDLE}
  timeout check 3s
`;

/** @param {Service} service */
function section({ name, mode, port, path: health, check, servers }) {
  const lines = servers.map(
    (server, index) =>
      `  server ${name}-${index + 1} ${LOOPBACK}:${server.port} check port ${server.healthPort} ${check}\n`,
  );
  return `listen ${name}
  mode ${mode}
  bind ${LOOPBACK}:${port}
  balance roundrobin
  option httpchk GET ${health}
  http-check expect status 200
${lines.join('')}`;
}
