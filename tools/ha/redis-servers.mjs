// @ts-check
// A Redis Cluster of six nodes, or a master with a replica and three Sentinels.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { launch, run, stopChild, untilReady } from '../embedded/child.mjs';
import { freePort, LOOPBACK } from '../embedded/ports.mjs';
import { send } from '../embedded/process.mjs';
import { startRedis } from '../embedded/redis.mjs';
import { until } from '../faults/until.mjs';
import { program } from './programs.mjs';

const MASTERS = 3;
const SENTINELS = 3;
const NAME = 'certwright';
const READY_WITHIN_MS = 60_000;
const PORT_ATTEMPTS = 3;
/** Until a master that does not respond is considered to have failed. */
const NODE_TIMEOUT_MS = 3_000;

/**
 * @typedef {object} RedisServers
 * @property {string} url as REDIS_URL
 * @property {readonly number[]} ports of the data nodes
 * @property {() => Promise<{ killed: number, replaced: () => Promise<void> }>} killMaster that holds the queues, if there are several; `replaced` resolves when another one has its place
 * @property {() => Promise<void>} restoreAll starts what was killed
 * @property {() => Promise<void>} stop
 */

/** The folder of each node gets its log. @param {string} folder @param {AbortSignal} signal @returns {Promise<RedisServers>} */
export async function redisCluster(folder, signal) {
  const nodes = new Nodes(folder, signal);
  for (let count = 0; count < 2 * MASTERS; count += 1)
    await nodes.start({
      'cluster-enabled': 'yes',
      'cluster-config-file': 'nodes.conf',
      'cluster-node-timeout': String(NODE_TIMEOUT_MS),
      'repl-diskless-sync-delay': '0',
    });
  const { ports } = nodes;
  const addresses = ports.map((port) => `${LOOPBACK}:${port}`);
  await run(program('redis-cli'), [
    ...['--cluster', 'create', ...addresses],
    ...['--cluster-replicas', '1', '--cluster-yes'],
  ]);
  const isWhole = async (/** @type {number} */ port) => {
    const info = await command(port, 'CLUSTER', 'INFO');
    return info.includes('cluster_state:ok') && info.includes('cluster_slots_ok:16384');
  };
  await until(async () => (await Promise.all(ports.map(isWhole))).every(Boolean), {
    what: 'the Redis Cluster',
    withinMs: READY_WITHIN_MS,
  });
  const key = '{certwright}:queues';
  return {
    url: `redis-cluster://${addresses.join(',')}`,
    ports,
    killMaster: async () => {
      const port = await slotOwner(ports, key);
      nodes.kill(port);
      const rest = ports.filter((each) => each !== port);
      return {
        killed: port,
        replaced: async () =>
          void (await until(
            async () => (await isWhole(Number(rest[0]))) && (await slotOwner(rest, key)) !== port,
            {
              what: 'another master',
              withinMs: READY_WITHIN_MS,
            },
          )),
      };
    },
    restoreAll: async () => await nodes.restoreAll(),
    stop: async () => await nodes.stop(),
  };
}

/** @param {string} folder @param {AbortSignal} signal @returns {Promise<RedisServers>} */
export async function redisWithSentinels(folder, signal) {
  const nodes = new Nodes(folder, signal);
  const quick = { 'repl-diskless-sync-delay': '0', 'repl-timeout': '10' };
  const master = await nodes.start(quick);
  await nodes.start({ ...quick, replicaof: `${LOOPBACK} ${master}` });
  const sentinels = await Promise.all(
    Array.from({ length: SENTINELS }, async (_, index) => await sentinel(folder, index + 1, master)),
  );
  const ports = sentinels.map(({ port }) => port);
  const masterPort = async () => {
    const said = await Promise.all(
      ports.map((port) => command(port, 'SENTINEL', 'get-master-addr-by-name', NAME)),
    );
    const found = said.map((text) => Number(text.split('\n')[1]));
    return found.every((port) => port === found[0]) ? found[0] : undefined;
  };
  const isComplete = async (/** @type {number} */ port) => {
    const text = await command(port, 'SENTINEL', 'master', NAME);
    return /num-slaves\n1\b/.test(text) && /num-other-sentinels\n2\b/.test(text);
  };
  await until(async () => (await Promise.all(ports.map(isComplete))).every(Boolean), {
    what: 'the Sentinels',
    withinMs: READY_WITHIN_MS,
  });
  return {
    url: `redis-sentinel://${ports.map((port) => `${LOOPBACK}:${port}`).join(',')}/${NAME}`,
    ports: nodes.ports,
    killMaster: async () => {
      const port = await until(masterPort, { what: 'a master', withinMs: READY_WITHIN_MS });
      nodes.kill(port);
      return {
        killed: port,
        replaced: async () =>
          void (await until(
            async () => {
              const now = await masterPort();
              return (
                now !== undefined &&
                now !== port &&
                /role:master/.test(await command(now, 'INFO', 'replication'))
              );
            },
            { what: 'another master', withinMs: READY_WITHIN_MS },
          )),
      };
    },
    restoreAll: async () => await nodes.restoreAll(),
    stop: async () => {
      for (const { child } of sentinels) await stopChild(child, { signal: 'SIGKILL' });
      await nodes.stop();
    },
  };
}

class Nodes {
  #folder;
  #signal;
  /** @type {Map<number, { server: import('../embedded/redis.mjs').Redis | undefined, folder: string, more: Record<string, string> }>} */
  #nodes = new Map();

  /**
   * @param {string} folder
   * @param {AbortSignal} signal
   */
  constructor(folder, signal) {
    this.#folder = folder;
    this.#signal = signal;
  }

  get ports() {
    return [...this.#nodes.keys()];
  }

  /**
   * A member of a Cluster also listens on a second port, 10,000 above its own.
   * @param {Record<string, string>} more
   * @returns {Promise<number>} its port
   */
  async start(more) {
    const folder = path.join(this.#folder, `redis-${this.#nodes.size + 1}`);
    for (let attempt = 1; ; attempt += 1) {
      const port = await freePort();
      try {
        const server = await this.#launch(port, folder, more);
        this.#nodes.set(port, { server, folder, more });
        return port;
      } catch (error) {
        if (attempt === PORT_ATTEMPTS || !/in use/.test(String(error))) throw error;
      }
    }
  }

  /** @param {number} port */
  kill(port) {
    const node = this.#nodes.get(port);
    if (node?.server !== undefined) send(node.server.child.pid, 'SIGKILL');
    if (node !== undefined) node.server = undefined;
  }

  /** A killed node comes back empty, as a replica. */
  async restoreAll() {
    for (const [port, node] of this.#nodes)
      if (node.server === undefined) node.server = await this.#launch(port, node.folder, node.more);
  }

  async stop() {
    for (const { server } of this.#nodes.values()) await server?.stop();
  }

  /**
   * @param {number} port
   * @param {string} folder
   * @param {Record<string, string>} more
   */
  async #launch(port, folder, more) {
    const binary = { command: program('redis-server'), env: {} };
    return await startRedis({ binary, folder, port, databases: 1, more, signal: this.#signal });
  }
}

/**
 * @param {string} folder
 * @param {number} count
 * @param {number} master port
 */
async function sentinel(folder, count, master) {
  const port = await freePort();
  const file = path.join(folder, `sentinel-${count}.conf`);
  const settings = [
    `port ${port}`,
    `bind ${LOOPBACK}`,
    `dir ${folder}`,
    `sentinel monitor ${NAME} ${LOOPBACK} ${master} 2`,
    `sentinel down-after-milliseconds ${NAME} ${NODE_TIMEOUT_MS}`,
    `sentinel failover-timeout ${NAME} 10000`,
  ];
  writeFileSync(file, `${settings.join('\n')}\n`, { mode: 0o600 });
  const child = await launch({
    ...{ command: program('redis-server'), args: [file, '--sentinel'], cwd: folder, env: process.env },
    logFile: path.join(folder, `sentinel-${count}.log`),
  });
  await untilReady(async () => (await command(port, 'PING')).includes('PONG'), {
    ...{ child, what: 'a Sentinel', withinMs: READY_WITHIN_MS },
  });
  return { child, port };
}

/**
 * @param {readonly number[]} ports
 * @param {string} key
 * @returns {Promise<number>} the master of its slot
 */
async function slotOwner(ports, key) {
  const [asked = 0] = ports;
  const slot = Number(await command(asked, 'CLUSTER', 'KEYSLOT', key));
  const nodes = await command(asked, 'CLUSTER', 'NODES');
  for (const line of nodes.trim().split('\n')) {
    const [, address = '', flags = '', , , , , ...slots] = line.split(' ');
    const owns = slots.some((range) => {
      const [from, to = from] = range.split('-').map(Number);
      return slot >= Number(from) && slot <= Number(to);
    });
    if (flags.includes('master') && !flags.includes('fail') && owns)
      return Number(/:(\d+)@/.exec(address)?.[1]);
  }
  throw new Error(`no master has the slot of ${key}`);
}

/**
 * @param {number} port
 * @param {...string} words
 */
export async function command(port, ...words) {
  return (
    await run(program('redis-cli'), ['-h', LOOPBACK, '-p', String(port), ...words], { timeoutMs: 5_000 })
  ).stdout;
}
