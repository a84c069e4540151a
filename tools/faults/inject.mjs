// @ts-check
// Faults of PostgreSQL and Redis. Each resolves when it is over: a restarted server accepts connections again.
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { commandLine, isGone, processesIn, send } from '../embedded/process.mjs';
import { places } from '../up/home.mjs';

/** After this it is killed, as an operator would do: PostgreSQL sometimes hangs in a fast shutdown during recovery. */
const STOP_WITHIN_MS = 20_000;

/**
 * @typedef {import('./platform.mjs').Stores} Stores
 * @typedef {{ name: string, inject: (stores: Stores, downMs: number, random: () => number) => Promise<void> }} Fault
 */

/** The server exits and is restarted. @type {readonly Fault[]} */
export const postgresRestarts = [
  .../** @type {const} */ (['SIGQUIT', 'SIGKILL', 'SIGINT']).map((signal) => ({
    name: `postmaster ${signal}`,
    inject: async (/** @type {Stores} */ stores, /** @type {number} */ downMs) => {
      const { pid } = stores.postgres().child;
      send(pid, signal);
      if (!(await isGone(pid, STOP_WITHIN_MS))) await stores.postgres().kill();
      await delay(downMs);
      await stores.restartPostgres();
    },
  })),
  {
    name: 'every process of PostgreSQL SIGKILL',
    inject: async (stores, downMs) => {
      await stores.postgres().kill();
      await delay(downMs);
      await stores.restartPostgres();
    },
  },
];

/** The server keeps running, or recovers by itself. @type {readonly Fault[]} */
export const postgresDisturbances = [
  {
    name: 'one backend SIGKILL',
    inject: async (_stores, _downMs, random) => {
      const backends = clientBackends();
      const victim = backends[Math.floor(random() * backends.length)];
      if (victim !== undefined) send(victim, 'SIGKILL');
    },
  },
  {
    name: 'every backend SIGTERM',
    inject: async () => clientBackends().forEach((pid) => send(pid, 'SIGTERM')),
  },
  {
    name: 'every process of PostgreSQL SIGSTOP',
    inject: async (_stores, downMs) => await freeze(everyPostgres(), downMs),
  },
  {
    name: 'every backend SIGSTOP',
    inject: async (_stores, downMs) => await freeze(clientBackends(), downMs),
  },
];

/** @type {readonly Fault[]} */
export const redisRestarts = /** @type {const} */ (['SIGKILL', 'SIGTERM', 'SIGQUIT']).map((signal) => ({
  name: `Redis ${signal}`,
  inject: async (stores, downMs) => {
    const { pid } = stores.redis().child;
    send(pid, signal);
    if (!(await isGone(pid, STOP_WITHIN_MS))) send(pid, 'SIGKILL');
    await delay(downMs);
    await stores.restartRedis();
  },
}));

/** @type {readonly Fault[]} */
export const redisDisturbances = [
  {
    name: 'Redis SIGSTOP',
    inject: async (stores, downMs) => await freeze([stores.redis().child.pid], downMs),
  },
];

/**
 * @param {readonly number[]} pids
 * @param {number} ms
 */
async function freeze(pids, ms) {
  for (const pid of pids) send(pid, 'SIGSTOP');
  await delay(ms);
  for (const pid of pids) send(pid, 'SIGCONT');
}

function everyPostgres() {
  return processesIn(path.join(places.postgres, 'data'), 'postgres');
}

/** Their process titles contain the client's address: "postgres: certwright certwright 127.0.0.1(51234) idle". */
function clientBackends() {
  return everyPostgres().filter((pid) => / 127\.0\.0\.1\(\d+\)/.test(commandLine(pid)));
}
