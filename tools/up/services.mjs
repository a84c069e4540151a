// @ts-check
// The processes as services: how each starts, becomes ready, and stops.
import path from 'node:path';
import { httpProbe, launch, stopChild, untilReady } from '../embedded/child.mjs';
import { LOOPBACK } from '../embedded/ports.mjs';
import { startPostgres } from '../embedded/postgres.mjs';
import { redisBinary } from '../embedded/redis-binaries.mjs';
import { startRedis } from '../embedded/redis.mjs';
import { bundleFolder } from './apps.mjs';
import { home, places } from './home.mjs';
import { MALLOC_SETTINGS, NODE_FLAGS, withHeapLimit, workspaceRoot } from './workspace.mjs';

/** Until the process is ready; a loaded machine with two cores needs a few seconds. */
const APP_READY_WITHIN_MS = 60_000;

/**
 * @typedef {import('./keep-running.mjs').Service} Service
 * @typedef {import('./apps.mjs').App} App
 */

/**
 * @param {number} port
 * @returns {Service & { url: (database?: string) => string }} url: known after the start
 */
export function postgresService(port) {
  /** @type {(database?: string) => string} */
  let url = () => '';
  return {
    name: 'postgres',
    url: (database) => url(database),
    start: async (signal) => {
      const pidFile = places.pidFile('postgres');
      const server = await startPostgres({ workspaceRoot, folder: places.postgres, port, pidFile, signal });
      url = server.url;
      return server;
    },
  };
}

/**
 * @param {number} port
 * @param {{ report: (line: string) => void, signal: AbortSignal }} how
 * @returns {Promise<Service & { url: () => string }>}
 */
export async function redisService(port, { report, signal }) {
  const binary = await redisBinary({ cache: places.redisBinaries, report, signal });
  const pidFile = places.pidFile('redis');
  return {
    name: 'redis',
    url: () => `redis://${LOOPBACK}:${port}`,
    start: (stop) => startRedis({ binary, folder: places.redis, port, pidFile, signal: stop }),
  };
}

/**
 * @param {App} app
 * @param {import('./apps.mjs').Deployment} deployment
 * @param {string} node the Node that runs it
 * @returns {Service & Omit<import('./take-over.mjs').Offer, 'supervised'>}
 */
export function appService(app, deployment, node) {
  const program = path.join(workspaceRoot, bundleFolder(app.source), 'main.js');
  const health = `http://${LOOPBACK}:${deployment.port(app.name, app.health.port)}${app.health.path}`;
  const pidFile = places.pidFile(app.name);
  // Compiled code of an earlier start: a process then needs a quarter less CPU until it is ready.
  const own = { PID_FILE: pidFile, NODE_COMPILE_CACHE: path.join(home, 'compile-cache') };
  const memory = { ...MALLOC_SETTINGS, NODE_OPTIONS: withHeapLimit(process.env['NODE_OPTIONS']) };
  const environment = { ...inherited(), ...memory, ...app.environment(deployment), ...own };
  return {
    name: app.name,
    program,
    pidFile,
    environment,
    cwd: home,
    start: async (signal) => {
      const child = await launch({
        command: node,
        args: [...NODE_FLAGS, program],
        cwd: home,
        env: environment,
        logFile: places.log(app.name),
        pidFile,
      });
      try {
        await untilReady(httpProbe(health), { child, what: app.name, withinMs: APP_READY_WITHIN_MS, signal });
      } catch (error) {
        await stopChild(child);
        throw error;
      }
      return { child, stop: () => stopChild(child) };
    },
  };
}

/**
 * The caller's environment (proxies, certificate stores, extra settings of an app), without npm's own additions and
 * without the addresses of stores: apps get these explicitly.
 */
export function inherited() {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|INIT_CWD$|(CT_)?DATABASE_URL$|REDIS_URL$)/i.test(name),
  );
  return Object.fromEntries(kept);
}
