// @ts-check
// The processes of monitoring, with two copies of the front end and of the worker, on two pairs of PostgreSQL servers.
import net from 'node:net';
import path from 'node:path';
import { httpProbe, launch, run } from '../../embedded/child.mjs';
import { LOOPBACK, preferredPort } from '../../embedded/ports.mjs';
import { isGone, send } from '../../embedded/process.mjs';
import { redisBinary } from '../../embedded/redis-binaries.mjs';
import { startRedis } from '../../embedded/redis.mjs';
import { apps, caPublicationUrl } from '../../up/apps.mjs';
import { caAccountKeysFile, dnsUpdateKey, home, places, sealingKeysFile } from '../../up/home.mjs';
import { bundleAll, createCa, makeGatewayKeys, migrate } from '../../up/programs.mjs';
import { appService } from '../../up/services.mjs';
import { NODE_FLAGS, workspaceRoot } from '../../up/workspace.mjs';
import { UNLIMITED } from '../platform.mjs';
import { until } from '../until.mjs';
import { PostgresPair } from './postgres-pair.mjs';

const NAMES = [
  'demo-dns',
  'mailbox',
  'demo-log',
  'orders-v3',
  'ct-search',
  'ct-ingest',
  'notifier',
  'prober',
];
const COPIED = ['monitoring', 'monitoring-worker'];
const PORTS = { first: 10_000, range: 15_000 };
/** On a loaded machine. */
const READY_WITHIN_MS = 300_000;
const ENDED_WITHIN_MS = 60_000;

/** Of every process that has such a setting. */
const SETTINGS = { ...UNLIMITED, LEASE_TIME: '2s' };

/** A process that is killed, frozen and restarted. */
export class Copy {
  #launchIt;
  #unexpected;
  /** @type {import('../../embedded/child.mjs').Child | undefined} */
  #child;

  /**
   * @param {string} name
   * @param {string} url
   * @param {() => Promise<import('../../embedded/child.mjs').Child>} launchIt
   * @param {string} health
   * @param {(how: string) => void} unexpected called when it exits by itself
   */
  constructor(name, url, launchIt, health, unexpected) {
    this.name = name;
    this.url = url;
    this.health = health;
    this.#launchIt = launchIt;
    this.#unexpected = unexpected;
    this.metricsUrl = new URL('/metrics', health).href;
  }

  /** Does not wait until it is ready. */
  async start() {
    const child = await this.#launchIt();
    this.#child = child;
    void child.ended.then((how) => {
      if (this.#child === child) this.#unexpected(`${this.name} (${how})`);
    });
  }

  async untilReady() {
    const probe = httpProbe(this.health);
    const child = this.#child;
    await until(async () => child?.hasEnded() || (await probe()), {
      what: `${this.name} to be ready`,
      withinMs: READY_WITHIN_MS,
    });
  }

  /**
   * @param {NodeJS.Signals} signal SIGKILL or SIGTERM
   * @returns {Promise<string | undefined>} how it ended; undefined: it did not run
   */
  async end(signal = 'SIGKILL') {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return undefined;
    send(child.pid, signal);
    if (!(await isGone(child.pid, ENDED_WITHIN_MS))) throw new Error(`${this.name} did not end`);
    return await child.ended;
  }

  freeze() {
    if (this.#child !== undefined) send(this.#child.pid, 'SIGSTOP');
  }

  thaw() {
    if (this.#child !== undefined) send(this.#child.pid, 'SIGCONT');
  }
}

/**
 * @typedef {object} MonitoringPlatform
 * @property {PostgresPair} core
 * @property {PostgresPair} ct
 * @property {(name: string) => Copy} process `monitoring-worker-2` is the second copy
 * @property {readonly Copy[]} fronts of monitoring
 * @property {readonly Copy[]} workers
 * @property {() => Promise<{ account_id: string, api_key: string }>} newAccount
 * @property {(...args: string[]) => Promise<string>} admin
 * @property {() => Promise<void>} flushRedis
 * @property {() => string[]} ended processes that have exited by themselves
 * @property {() => Promise<void>} untilReady
 * @property {() => Promise<void>} stop
 */

/**
 * @param {{ node: string, signal: AbortSignal, say: (line: string) => void }} how
 * @returns {Promise<MonitoringPlatform>}
 */
export async function startMonitoring({ node, signal, say }) {
  say('building');
  await bundleAll();
  say('starting PostgreSQL, Redis and the processes');
  const [core, ct] = [
    new PostgresPair('core', 'certwright', signal),
    new PostgresPair('ct', 'certwright_ct', signal),
  ];
  await Promise.all([core.start(), ct.start()]);
  const cache = path.join(workspaceRoot, '.certwright/redis-binaries');
  const redis = await startRedis({
    binary: await redisBinary({ cache, signal }),
    folder: places.redis,
    signal,
  });
  const databases = { databaseUrl: core.url, ctDatabaseUrl: ct.url };
  const urlOf = await migrate(node, databases, { create: false, signal, say });
  await makeGatewayKeys(node, signal);
  await Promise.all([core.addReplica(), ct.addReplica()]);
  const port = await portsOf([...NAMES, ...COPIED, ...COPIED.map((name) => `${name}-2`)]);
  const searchUrl = `http://${LOOPBACK}:${port('ct-search', 'http')}`;
  Object.assign(process.env, SETTINGS, { SEARCH_URL: searchUrl });
  const deployment = {
    ...{ home, ...databases, urlOf, redisUrl: redis.url, dnsUpdateKey: dnsUpdateKey() },
    ...{ sealingKeysFile: sealingKeysFile(), caAccountKeysFile: caAccountKeysFile() },
    ...{ logLevel: 'info', port },
  };
  await createCa(node, { databaseUrl: core.url, publicationUrl: caPublicationUrl(deployment), signal });
  /** @type {string[]} */
  const ended = [];
  const copyOf = (/** @type {import('../../up/apps.mjs').App} */ app, suffix = '') => {
    const own = { ...app, name: `${app.name}${suffix}` };
    const portOf = (/** @type {string} */ of, /** @type {string} */ which) =>
      port(of === app.name ? own.name : of, which);
    const { program, environment, pidFile, cwd } = appService(
      { ...own, environment: (each) => app.environment({ ...each, port: portOf }) },
      deployment,
      node,
    );
    const launchIt = () =>
      launch({
        command: node,
        args: [...NODE_FLAGS, program],
        ...{ cwd, env: environment, pidFile, logFile: places.log(own.name) },
      });
    const url = (/** @type {string} */ which) => `http://${LOOPBACK}:${port(own.name, which)}`;
    const [main = ''] = Object.keys(app.ports);
    return new Copy(own.name, url(main), launchIt, `${url(app.health.port)}${app.health.path}`, (how) =>
      ended.push(how),
    );
  };
  const used = apps.filter(({ name }) => [...NAMES, ...COPIED].includes(name));
  const processes = used.flatMap((app) =>
    COPIED.includes(app.name) ? [copyOf(app), copyOf(app, '-2')] : [copyOf(app)],
  );
  for (const each of processes) await each.start();
  const untilReady = async () => void (await Promise.all(processes.map((each) => each.untilReady())));
  await untilReady();
  const named = (/** @type {string} */ prefix) =>
    processes.filter(({ name }) => name === prefix || name === `${prefix}-2`);
  const admin = async (/** @type {string[]} */ ...args) => {
    const env = { ...process.env, DATABASE_URL: core.directUrl, REDIS_URL: redis.url };
    const program = path.join(workspaceRoot, 'dist/tools/admin/main.js');
    return (await run(node, [program, ...args], { env, signal })).stdout;
  };
  return {
    ...{ core, ct, admin, untilReady },
    process: (name) => {
      const found = processes.find((each) => each.name === name);
      if (found === undefined) throw new Error(`no process ${name}`);
      return found;
    },
    fronts: named('monitoring'),
    workers: named('monitoring-worker'),
    newAccount: async () => JSON.parse(await admin('seed-sandbox', '--json')),
    flushRedis: async () => await flush(redis.port),
    ended: () => [...ended],
    stop: async () => {
      for (const each of processes) await each.end();
      await redis.stop();
      await Promise.all([core.stop(), ct.stop()]);
    },
  };
}

/** Of the index. @param {MonitoringPlatform} platform */
export async function lastPosition({ ct }) {
  const [row] = await ct.query('SELECT next FROM ct_sequence');
  return Number(row.next) - 1;
}

/** Up to which the index was matched. @param {MonitoringPlatform} platform */
export async function followedPosition({ core }) {
  const [row] = await core.query('SELECT position FROM monitoring_follower');
  return Number(row.position);
}

/** @param {number} port */
async function flush(port) {
  const socket = net.connect(port, LOOPBACK);
  await new Promise((resolve, reject) => {
    socket.once('error', reject).once('data', resolve);
    socket.write('FLUSHALL\r\n');
  });
  socket.destroy();
}

/** @param {readonly string[]} names @returns {Promise<(app: string, port: string) => number>} */
async function portsOf(names) {
  const taken = new Set();
  /** @type {Map<string, number>} */
  const given = new Map();
  const first = PORTS.first + Math.floor(Math.random() * PORTS.range);
  for (const name of names) {
    const app = apps.find((each) => each.name === name.replace(/-2$/, ''));
    for (const [port, { udp }] of Object.entries(app?.ports ?? {}))
      given.set(`${name} ${port}`, await preferredPort(first, { udp, taken }));
  }
  // Processes that do not run have an address at which nothing listens.
  const none = await preferredPort(first, { taken });
  return (app, port) => given.get(`${app} ${port}`) ?? none;
}
