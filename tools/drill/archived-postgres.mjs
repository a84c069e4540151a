// @ts-check
// A PostgreSQL that archives its log, its base backup, and its restoration to a point in time.
import { appendFileSync, copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { run } from '../embedded/child.mjs';
import { startPostgres } from '../embedded/postgres.mjs';
import { query } from '../faults/monitoring/postgres-pair.mjs';
import { until } from '../faults/until.mjs';
import { places } from '../up/home.mjs';
import { workspaceRoot } from '../up/workspace.mjs';

const ARCHIVED_WITHIN_MS = 120_000;
/** Replay of 10,000 orders on a loaded machine. */
const REPLAYED_WITHIN_MS = 600_000;

export class ArchivedPostgres {
  #signal;
  #port;
  #archive;
  #backup;
  /** @type {import('../embedded/postgres.mjs').Postgres | undefined} */
  #server;

  /** @param {{ folder: string, port: number, signal: AbortSignal }} how folder: of backup and archive, which survive */
  constructor({ folder, port, signal }) {
    this.#archive = path.join(folder, 'archive');
    this.#backup = path.join(folder, 'base');
    this.#port = port;
    this.#signal = signal;
    for (const each of [this.#archive, this.#backup]) mkdirSync(each, { recursive: true });
  }

  async start() {
    await this.#start();
    const settings = {
      archive_mode: 'on',
      archive_command: `cp %p ${this.#archive}/%f`,
      archive_timeout: '60s',
    };
    for (const [setting, value] of Object.entries(settings))
      await this.query(`ALTER SYSTEM SET ${setting} = '${value}'`);
    await this.#server?.stop();
    await this.#start();
  }

  /** @param {string} [database] */
  url(database) {
    if (this.#server === undefined) throw new Error('PostgreSQL does not run');
    return this.#server.url(database);
  }

  /** @param {string} text @param {readonly unknown[]} [values] @returns {Promise<any[]>} */
  async query(text, values = []) {
    return await query(this.url(), text, values);
  }

  /** As pg_basebackup, which the embedded PostgreSQL does not have. */
  async backUp() {
    const data = path.join(places.postgres, 'data');
    const { Client } = createRequire(import.meta.url)('pg');
    const client = new Client({ connectionString: this.url() });
    await client.connect();
    try {
      await client.query(`SELECT pg_backup_start('drill', true)`);
      // Files that are removed meanwhile are not needed: the log creates or removes them.
      await run('cp', ['-a', data, path.join(this.#backup, 'data')]).catch((error) => {
        if (!/No such file/.test(String(error))) throw error;
      });
      const { rows } = await client.query('SELECT labelfile FROM pg_backup_stop(true)');
      writeFileSync(path.join(this.#backup, 'data/backup_label'), rows[0].labelfile);
    } finally {
      await client.end();
    }
    copyFileSync(path.join(places.postgres, 'password'), path.join(this.#backup, 'password'));
    for (const file of ['postmaster.pid', 'postmaster.opts'])
      rmSync(path.join(this.#backup, 'data', file), { force: true });
    // The log comes from the archive.
    await run('find', [path.join(this.#backup, 'data/pg_wal'), '-type', 'f', '-delete']);
  }

  /** Everything up to now is in the archive. */
  async archiveAll() {
    const [{ file }] = await this.query(`SELECT pg_walfile_name(pg_current_wal_lsn()) AS file`);
    await this.query('SELECT pg_switch_wal()');
    await until(() => existsSync(path.join(this.#archive, file)), {
      what: `${file} in the archive`,
      withinMs: ARCHIVED_WITHIN_MS,
    });
  }

  /** As a lost machine. */
  async lose() {
    await this.#server?.kill();
    this.#server = undefined;
    rmSync(places.postgres, { recursive: true, force: true });
  }

  /** @param {string} point of pg_create_restore_point */
  async restore(point) {
    mkdirSync(places.postgres, { recursive: true, mode: 0o700 });
    await run('cp', ['-a', `${this.#backup}/.`, places.postgres]);
    const data = path.join(places.postgres, 'data');
    appendFileSync(
      path.join(data, 'postgresql.auto.conf'),
      [
        `restore_command = 'cp ${this.#archive}/%f %p'`,
        `recovery_target_name = '${point}'`,
        `recovery_target_action = 'promote'`,
        // Otherwise the log of the new timeline could overwrite files that another restoration needs.
        `archive_mode = 'off'`,
        '',
      ].join('\n'),
    );
    writeFileSync(path.join(data, 'recovery.signal'), '');
    await this.#start();
    await until(async () => (await this.query('SELECT pg_is_in_recovery() AS is'))[0].is === false, {
      what: 'the end of the recovery',
      withinMs: REPLAYED_WITHIN_MS,
    });
  }

  async stop() {
    await this.#server?.stop();
  }

  async #start() {
    this.#server = await startPostgres({
      workspaceRoot,
      folder: places.postgres,
      port: this.#port,
      signal: this.#signal,
    });
  }
}
