// @ts-check
// A PostgreSQL primary with a synchronous replica on the same machine. Clients connect through a link that moves with the primary.
import { appendFileSync, copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { run } from '../../embedded/child.mjs';
import { freePort, LOOPBACK } from '../../embedded/ports.mjs';
import { startPostgres } from '../../embedded/postgres.mjs';
import { home } from '../../up/home.mjs';
import { workspaceRoot } from '../../up/workspace.mjs';
import { until } from '../until.mjs';
import { databaseLink } from './database-link.mjs';

/** On a loaded machine. */
const STREAMING_WITHIN_MS = 300_000;
const PROMOTED_WITHIN_S = 300;

/** Of the primary that is created. The machine is not switched off, so fsync protects nothing. */
const SETTINGS = { fsync: 'off', wal_keep_size: '2GB', max_wal_size: '2GB' };

export class PostgresPair {
  #folder;
  #name;
  #database;
  #signal;
  #folders = 0;
  /** @type {import('../../embedded/postgres.mjs').Postgres} */
  #primary;
  #primaryFolder = '';
  /** @type {import('../../embedded/postgres.mjs').Postgres | undefined} */
  #replica;
  #replicaFolder = '';
  /** @type {import('./database-link.mjs').DatabaseLink} */
  link;

  /**
   * @param {string} name
   * @param {string} database
   * @param {AbortSignal} signal
   * @param {string} [folder] of the data of both
   */
  constructor(name, database, signal, folder = home) {
    this.#folder = folder;
    this.#name = name;
    this.#database = database;
    this.#signal = signal;
  }

  async start() {
    this.#primaryFolder = this.#newFolder();
    this.#primary = await this.#server(this.#primaryFolder);
    for (const [setting, value] of Object.entries(SETTINGS))
      await this.query(`ALTER SYSTEM SET ${setting} = '${value}'`);
    await this.query('SELECT pg_reload_conf()');
    this.link = await databaseLink(this.#primary.port);
  }

  /** Through the link. */
  get url() {
    const url = new URL(this.directUrl);
    url.port = String(this.link.port);
    return url.href;
  }

  /** Of the primary. */
  get directUrl() {
    return this.#primary.url();
  }

  /** Of the replica. */
  get replicaUrl() {
    if (this.#replica === undefined) throw new Error(`${this.#name} has no replica`);
    return this.#replica.url();
  }

  /**
   * At the primary, as superuser.
   * @param {string} text
   * @param {readonly unknown[]} [values]
   * @returns {Promise<any[]>}
   */
  async query(text, values = []) {
    return await query(this.#primary.url(), text, values);
  }

  /** Every commit waits until the replica has it, too. */
  async addReplica() {
    this.#replicaFolder = this.#newFolder();
    await this.#copyTo(this.#replicaFolder);
    const data = path.join(this.#replicaFolder, 'data');
    const { port, username, password } = new URL(this.#primary.url());
    const connection = `host=${LOOPBACK} port=${port} user=${username} password=${password} application_name=replica`;
    appendFileSync(path.join(data, 'postgresql.auto.conf'), `primary_conninfo = '${connection}'\n`);
    writeFileSync(path.join(data, 'standby.signal'), '');
    this.#replica = await this.#server(this.#replicaFolder);
    await until(
      async () =>
        (await this.query(`SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'`)).length === 1,
      { what: `the replica of ${this.#name} to stream`, withinMs: STREAMING_WITHIN_MS },
    );
    await this.query(`ALTER SYSTEM SET synchronous_standby_names = '*'`);
    await this.query('SELECT pg_reload_conf()');
  }

  /** Kills the primary, and continues with the replica. Then there is none. */
  async failOver() {
    const replica = this.#replica;
    if (replica === undefined) throw new Error(`${this.#name} has no replica`);
    this.#replica = undefined;
    await this.#primary.kill();
    this.link.cut();
    rmSync(this.#primaryFolder, { recursive: true, force: true });
    await query(replica.url(this.#database), `SELECT pg_promote(true, ${PROMOTED_WITHIN_S})`);
    this.#primaryFolder = this.#replicaFolder;
    await this.#become(replica);
  }

  /** @returns {Promise<string>} the folder of a copy of the primary */
  async backUp() {
    const folder = this.#newFolder();
    await this.#copyTo(folder);
    return folder;
  }

  /** Replaces both servers by the copy: what was committed since is lost. @param {string} folder */
  async restore(folder) {
    const replica = this.#replica;
    this.#replica = undefined;
    this.link.cut();
    await this.#primary.kill();
    await replica?.kill();
    const restored = await this.#server(folder);
    this.#primaryFolder = folder;
    await this.#become(restored);
  }

  async stop() {
    this.link?.close();
    await this.#replica?.kill();
    await this.#primary?.kill();
  }

  /** @param {import('../../embedded/postgres.mjs').Postgres} server accepts writes */
  async #become(server) {
    this.#primary = server;
    await this.query('ALTER SYSTEM RESET synchronous_standby_names');
    await this.query('SELECT pg_reload_conf()');
    this.link.connectTo(server.port);
  }

  /** @param {string} folder */
  async #server(folder) {
    const databases = [this.#database];
    return await startPostgres({
      workspaceRoot,
      folder,
      databases,
      port: await freePort(),
      signal: this.#signal,
    });
  }

  #newFolder() {
    return path.join(this.#folder, `postgres-${this.#name}-${(this.#folders += 1)}`);
  }

  /** As pg_basebackup, which the embedded PostgreSQL does not have. @param {string} folder */
  async #copyTo(folder) {
    const [from, to] = [path.join(this.#primaryFolder, 'data'), path.join(folder, 'data')];
    mkdirSync(folder, { mode: 0o700 });
    copyFileSync(path.join(this.#primaryFolder, 'password'), path.join(folder, 'password'));
    const { Client } = createRequire(import.meta.url)('pg');
    const client = new Client({ connectionString: this.#primary.url() });
    await client.connect();
    try {
      await client.query(`SELECT pg_backup_start('copy', true)`);
      // Files that are removed meanwhile are not needed: the log creates or removes them.
      await copy(from, to);
      const { rows } = await client.query('SELECT labelfile FROM pg_backup_stop(false)');
      await copy(`${path.join(from, 'pg_wal')}/.`, path.join(to, 'pg_wal'));
      writeFileSync(path.join(to, 'backup_label'), rows[0].labelfile);
    } finally {
      await client.end();
    }
    for (const file of ['postmaster.pid', 'postmaster.opts']) rmSync(path.join(to, file), { force: true });
    if (!existsSync(path.join(to, 'global/pg_control'))) throw new Error(`${from} could not be copied`);
  }
}

/**
 * @param {string} from
 * @param {string} to
 */
async function copy(from, to) {
  await run('cp', ['-a', from, to]).catch((error) => {
    if (!/No such file/.test(String(error))) throw error;
  });
}

/**
 * @param {string} connectionString
 * @param {string} text
 * @param {readonly unknown[]} [values]
 */
export async function query(connectionString, text, values = []) {
  const { Client } = createRequire(import.meta.url)('pg');
  const client = new Client({ connectionString });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}
