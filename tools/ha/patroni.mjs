// @ts-check
// Three PostgreSQL servers under Patroni, which keeps its state in etcd. Every commit waits for a synchronous replica.
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { run, stopChild, untilReady } from '../embedded/child.mjs';
import { freePort, LOOPBACK } from '../embedded/ports.mjs';
import { isGone, processesIn, send } from '../embedded/process.mjs';
import { query } from '../faults/monitoring/postgres-pair.mjs';
import { until } from '../faults/until.mjs';
import { launchServer, postgresPrograms, program } from './programs.mjs';

const SCOPE = 'certwright';
export const NODES = ['postgres-1', 'postgres-2', 'postgres-3'];
const SUPERUSER = 'certwright';
/** On a loaded machine. */
const READY_WITHIN_MS = 180_000;
const PROBE_TIMEOUT_MS = 1_000;
/** The lowest values that Patroni accepts: a killed primary is replaced when its lease of `ttl` seconds has expired. */
const TIMES = { ttl: 20, loop_wait: 2, retry_timeout: 5 };

/**
 * @typedef {object} Node
 * @property {string} name
 * @property {string} folder
 * @property {number} port of PostgreSQL
 * @property {number} restPort of Patroni
 * @property {string} configFile
 * @property {import('../embedded/child.mjs').Child} [child] Patroni
 */

export class PatroniCluster {
  #folder;
  #signal;
  #password = randomBytes(16).toString('hex');
  /** @type {Node[]} */
  nodes = [];
  /** @type {import('../embedded/child.mjs').Child | undefined} */
  #etcd;
  #etcdPort = 0;

  /**
   * @param {string} folder
   * @param {AbortSignal} signal
   */
  constructor(folder, signal) {
    this.#folder = folder;
    this.#signal = signal;
  }

  /** @param {readonly string[]} databases to create */
  async start(databases) {
    await this.#startEtcd();
    for (const name of NODES) {
      const folder = path.join(this.#folder, name);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const node = { name, folder, port: await freePort(), restPort: await freePort() };
      const configFile = path.join(folder, 'patroni.json');
      writeFileSync(configFile, JSON.stringify(this.#config(node), null, 2), { mode: 0o600 });
      this.nodes.push({ ...node, configFile });
    }
    const [first, ...others] = this.nodes;
    if (first === undefined) return;
    await this.revive(first);
    await until(() => this.primary(), { what: 'the first primary', withinMs: READY_WITHIN_MS });
    for (const database of databases)
      await query(this.url(first.port, 'postgres'), `CREATE DATABASE "${database}"`);
    for (const node of others) await this.revive(node);
    await this.untilSynchronous();
  }

  /**
   * @param {number} port
   * @param {string} database
   */
  url(port, database) {
    return `postgresql://${SUPERUSER}:${this.#password}@${LOOPBACK}:${port}/${database}`;
  }

  /** Whose Patroni says that it is the primary. @returns {Promise<Node | undefined>} */
  async primary() {
    const states = await Promise.all(
      this.nodes.map(async (node) => (await hasRole(node, 'primary')) && node),
    );
    return states.find((node) => node !== false);
  }

  async requiredPrimary() {
    return await until(() => this.primary(), { what: 'a primary', withinMs: READY_WITHIN_MS });
  }

  /**
   * At the primary, as superuser.
   * @param {string} database
   * @param {string} text
   * @param {readonly unknown[]} [values]
   * @returns {Promise<any[]>}
   */
  async query(database, text, values = []) {
    const { port } = await this.requiredPrimary();
    return await query(this.url(port, database), text, values);
  }

  /** Until all nodes run, and commits wait for one of them. */
  async untilSynchronous() {
    await until(
      async () => {
        const rows = await this.query('postgres', 'SELECT FROM pg_stat_replication');
        const isSynchronous = await Promise.all(this.nodes.map((node) => hasRole(node, 'synchronous')));
        return rows.length === NODES.length - 1 && isSynchronous.includes(true);
      },
      { what: 'two replicas, one of them synchronous', withinMs: READY_WITHIN_MS },
    );
  }

  /** As a power cut would: Patroni and every process of PostgreSQL at once. @param {Node} node */
  async kill(node) {
    const pids = processesIn(path.join(node.folder, 'data'), 'postgres');
    if (node.child !== undefined) send(-node.child.pid, 'SIGKILL');
    for (const pid of pids) send(pid, 'SIGKILL');
    for (const pid of [...pids, node.child?.pid ?? 0].filter(Boolean)) await isGone(pid, 5_000);
  }

  /** Starts Patroni, which starts or rewinds PostgreSQL. @param {Node} node */
  async revive(node) {
    node.child = await launchServer({
      ...{ folder: node.folder, name: 'patroni', command: program('patroni'), args: [node.configFile] },
    });
  }

  /** @returns {Promise<Node>} the new primary */
  async switchover() {
    const before = await this.requiredPrimary();
    const { configFile } = before;
    const args = ['-c', configFile, 'switchover', SCOPE, '--master', before.name, '--force'];
    const env = { ...process.env, LC_ALL: 'C.UTF-8' };
    const { stdout } = await run(program('patronictl'), args, { signal: this.#signal, env });
    // Its exit code is 0 in any case.
    if (!stdout.includes('Successfully switched over')) throw new Error(stdout);
    return await until(
      async () => {
        const now = await this.primary();
        return now === before ? undefined : now;
      },
      { what: 'another primary', withinMs: READY_WITHIN_MS },
    );
  }

  async stop() {
    for (const node of this.nodes) await this.kill(node);
    if (this.#etcd !== undefined) await stopChild(this.#etcd, { signal: 'SIGKILL' });
  }

  async #startEtcd() {
    const folder = path.join(this.#folder, 'etcd');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const [client, peer] = [await freePort(), await freePort()];
    const url = (/** @type {number} */ port) => `http://${LOOPBACK}:${port}`;
    const args = Object.entries({
      'data-dir': path.join(folder, 'data'),
      'listen-client-urls': url(client),
      'advertise-client-urls': url(client),
      'listen-peer-urls': url(peer),
      'initial-advertise-peer-urls': url(peer),
      'initial-cluster': `default=${url(peer)}`,
    }).flatMap(([name, value]) => [`--${name}`, value]);
    this.#etcd = await launchServer({ folder, name: 'etcd', command: program('etcd'), args });
    this.#etcdPort = client;
    const probe = async () => (await fetch(`${url(client)}/health`)).ok;
    await untilReady(probe, {
      ...{ child: this.#etcd, what: 'etcd', withinMs: READY_WITHIN_MS, signal: this.#signal },
    });
  }

  /** @param {Omit<Node, 'configFile'>} node */
  #config({ name, folder, port, restPort }) {
    const own = `${LOOPBACK}:${port}`;
    const superuser = { username: SUPERUSER, password: this.#password };
    return {
      scope: SCOPE,
      name,
      restapi: { listen: `${LOOPBACK}:${restPort}`, connect_address: `${LOOPBACK}:${restPort}` },
      etcd3: { host: `${LOOPBACK}:${this.#etcdPort}` },
      bootstrap: {
        dcs: {
          ...TIMES,
          synchronous_mode: true,
          postgresql: {
            use_pg_rewind: true,
            parameters: { max_connections: 400, wal_log_hints: 'on', max_wal_size: '2GB' },
          },
        },
        initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }],
      },
      postgresql: {
        listen: own,
        connect_address: own,
        data_dir: path.join(folder, 'data'),
        bin_dir: postgresPrograms(),
        pgpass: path.join(folder, 'pgpass'),
        basebackup: [{ checkpoint: 'fast' }],
        parameters: { unix_socket_directories: '', timezone: 'UTC', log_timezone: 'UTC' },
        pg_hba: [
          `host all all ${LOOPBACK}/32 scram-sha-256`,
          `host replication all ${LOOPBACK}/32 scram-sha-256`,
        ],
        authentication: {
          superuser,
          replication: { ...superuser, username: 'replicator' },
          rewind: superuser,
        },
      },
    };
  }
}

/**
 * By Patroni's health checks, which HAProxy uses too.
 * @param {Node} node
 * @param {'primary' | 'synchronous'} role
 */
async function hasRole({ restPort }, role) {
  try {
    const response = await fetch(`http://${LOOPBACK}:${restPort}/${role}`, {
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}
