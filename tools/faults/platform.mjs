// @ts-check
// Every process of `npm start`, without its supervisor, so that nothing restarts a process that exits. PostgreSQL and Redis
// belong to the run.
import path from 'node:path';
import { stopChild } from '../embedded/child.mjs';
import { freePort, LOOPBACK, preferredPort } from '../embedded/ports.mjs';
import { startPostgres } from '../embedded/postgres.mjs';
import { redisBinary } from '../embedded/redis-binaries.mjs';
import { startRedis } from '../embedded/redis.mjs';
import { apps, caPublicationUrl } from '../up/apps.mjs';
import { caAccountKeysFile, dnsUpdateKey, home, places, sealingKeysFile } from '../up/home.mjs';
import { bundleAll, createCa, makeGatewayKeys, migrate, revertNewest } from '../up/programs.mjs';
import { sandboxAccount } from '../up/sandbox-account.mjs';
import { appService } from '../up/services.mjs';
import { workspaceRoot } from '../up/workspace.mjs';
import { until } from './until.mjs';

export const CT_DATABASE = 'certwright_ct';
/** Outside the ports of `npm start` and the kernel's ephemeral ports. */
const PORTS = { first: 10_000, range: 15_000 };
/** Crash recovery and reconnecting, on a loaded machine. */
const READY_WITHIN_MS = 120_000;
const PROBE_TIMEOUT_MS = 5_000;

/** Disables rate limits; each process uses the settings that it has. */
export const UNLIMITED = {
  READS_PER_S: '100000',
  WRITES_PER_S: '100000',
  REQUESTS_PER_S: '100000',
  ANONYMOUS_PER_S: '100000',
  ANONYMOUS_PER_MIN: '1000000',
  ANONYMOUS_SINGLE_PER_HOUR: '10000000',
  ANONYMOUS_SUBDOMAINS_PER_HOUR: '10000000',
  INSTALLATION_TESTS_PER_MIN: '100000',
};

/**
 * @typedef {object} Stores
 * @property {() => import('../embedded/postgres.mjs').Postgres} postgres the running server
 * @property {() => import('../embedded/redis.mjs').Redis} redis
 * @property {() => Promise<void>} restartPostgres at the same port, with the same data
 * @property {() => Promise<void>} restartRedis at the same port, empty
 *
 * @typedef {object} Platform
 * @property {Stores} stores
 * @property {(app: string, port: string) => string} url of an app's HTTP port
 * @property {(app: string, port: string) => number} port
 * @property {{ account_id: string, api_key: string }} account
 * @property {import('../up/apps.mjs').DnsUpdateKey} dnsUpdateKey
 * @property {() => string[]} ended processes that have exited, and how
 * @property {(app: string) => Promise<void>} stop a process
 * @property {() => Promise<void>} untilReady
 */

/**
 * @param {{ node: string, beforeNewest?: boolean, signal: AbortSignal, say: (line: string) => void }} how node: runs the processes.
 *   beforeNewest: the newest migration of each database is pending
 * @returns {Promise<Platform>}
 */
export async function startPlatform({ node, beforeNewest = false, signal, say }) {
  say('building');
  await bundleAll();
  say('starting PostgreSQL, Redis and every process');
  const stores = await startStores(signal);
  const databaseUrl = stores.postgres().url();
  const ctDatabaseUrl = stores.postgres().url(CT_DATABASE);
  const urlOf = await migrate(node, { databaseUrl, ctDatabaseUrl }, { create: true, signal, say });
  if (beforeNewest) await revertNewest(node, { databaseUrl, ctDatabaseUrl }, signal);
  await makeGatewayKeys(node, signal);
  Object.assign(process.env, UNLIMITED);
  const port = await ports();
  const key = dnsUpdateKey();
  const deployment = {
    ...{ home, databaseUrl, ctDatabaseUrl, urlOf, redisUrl: stores.redis().url },
    ...{ sealingKeysFile: sealingKeysFile(), caAccountKeysFile: caAccountKeysFile(), dnsUpdateKey: key },
    logLevel: 'info',
    port,
  };
  await createCa(node, { databaseUrl, publicationUrl: caPublicationUrl(deployment), signal });
  const start = async (/** @type {import('../up/apps.mjs').App} */ app) => {
    const { child } = await appService(app, deployment, node).start(signal);
    return { app, child };
  };
  const peers = await Promise.all(apps.filter(({ peer }) => peer).map(start));
  const others = await Promise.all(apps.filter(({ peer }) => !peer).map(start));
  const processes = [...peers, ...others];
  /** @type {string[]} */
  const ended = [];
  for (const { app, child } of processes) void child.ended.then((how) => ended.push(`${app.name} (${how})`));
  const url = (/** @type {string} */ app, /** @type {string} */ name) =>
    `http://${LOOPBACK}:${port(app, name)}`;
  const ordersApi = url('orders-v3', 'http');
  const account = await sandboxAccount({ known: undefined, ordersApi, node, databaseUrl, signal });
  const untilReady = async () => {
    const waits = apps.map(async ({ name, health }) => {
      const probe = allChecksPass(`${url(name, health.port)}${health.path}`);
      await until(async () => ended.length > 0 || (await probe()), {
        what: `${name} to be ready`,
        withinMs: READY_WITHIN_MS,
      });
    });
    await Promise.all(waits);
  };
  const stop = async (/** @type {string} */ name) => {
    for (const { app, child } of processes) if (app.name === name) await stopChild(child);
  };
  return { stores, url, port, account, dnsUpdateKey: key, ended: () => [...ended], stop, untilReady };
}

/**
 * @param {AbortSignal} signal
 * @returns {Promise<Stores>}
 */
async function startStores(signal) {
  const ports = { postgres: await freePort(), redis: await freePort() };
  const cache = path.join(workspaceRoot, '.certwright/redis-binaries');
  const binary = await redisBinary({ cache, signal });
  const postgres = () =>
    startPostgres({ workspaceRoot, folder: places.postgres, port: ports.postgres, signal });
  const redis = () => startRedis({ binary, folder: places.redis, port: ports.redis, signal });
  const running = { postgres: await postgres(), redis: await redis() };
  return {
    postgres: () => running.postgres,
    redis: () => running.redis,
    restartPostgres: async () => void (running.postgres = await postgres()),
    restartRedis: async () => void (running.redis = await redis()),
  };
}

/** @returns {Promise<(app: string, port: string) => number>} */
async function ports() {
  const taken = new Set();
  /** @type {Map<string, number>} */
  const given = new Map();
  const first = PORTS.first + Math.floor(Math.random() * PORTS.range);
  for (const app of apps) {
    for (const [name, { udp }] of Object.entries(app.ports)) {
      given.set(`${app.name} ${name}`, await preferredPort(first, { udp, taken }));
    }
  }
  return (app, name) => {
    const port = given.get(`${app} ${name}`);
    if (port === undefined) throw new Error(`The app ${app} has no port "${name}".`);
    return port;
  };
}

/**
 * An API is ready while its database is down, to say so. Here every check has to pass.
 * @param {string} url of a health page; only `/readyz` of the platform's processes names checks
 */
export const allChecksPass = (url) => async () => {
  const response = await fetch(url, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
  const report = await response.text();
  return response.ok && !report.includes('"degraded"');
};
