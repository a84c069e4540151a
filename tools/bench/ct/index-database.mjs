// A temporary PostgreSQL with the ct schema, durable as in production, and the libraries that write and read it.
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { bundle, workspaceRoot } from '../../build/bundle.mjs';
import { startPostgres } from '../../embedded/postgres.mjs';

const statementTimeoutMs = 600_000;

/**
 * @returns {Promise<{ ct: any, ctIndex: any, database: import('typeorm').DataSource, url: string, serverPid: number,
 *   createDatabase(name: string): Promise<string>, close(): Promise<void> }>}
 */
export async function indexDatabase() {
  const built = 'dist/tools/bench-ct';
  const libs = { ct: 'ct', schema: 'ct-schema', index: 'ct-index' };
  const entries = Object.entries(libs).map(([name, lib]) => [name, `libs/${lib}/src/index.ts`]);
  await bundle(Object.fromEntries(entries), built);
  const require = createRequire(path.join(workspaceRoot, built, 'ct.js'));
  require('reflect-metadata');
  const ct = require('./ct.js');
  const ctIndex = { ...require('./schema.js'), ...require('./index.js') };
  const folder = mkdtempSync(path.join(os.tmpdir(), 'certwright-bench-ct-'));
  const signal = new AbortController().signal;
  const server = await startPostgres({ workspaceRoot, folder, signal });
  const database = ctIndex.ctDataSource({
    ...{ url: server.url(), applicationName: 'bench' },
    ...{ poolSize: 4, statementTimeoutMs },
  });
  const close = async () => {
    if (database.isInitialized) await database.destroy();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await database.initialize();
    await database.runMigrations({ transaction: 'each' });
    await ctIndex.ensurePartitions(database, new Date());
  } catch (error) {
    await close();
    throw error;
  }
  /** Another database on the same server. @returns its address */
  const createDatabase = async (name) => {
    await database.query(`CREATE DATABASE ${name}`);
    return server.url(name);
  };
  return {
    ...{ ct, ctIndex, database, createDatabase },
    ...{ url: server.url(), serverPid: server.child.pid, close },
  };
}

/** Stores issuances as ct-ingest does. @returns how many were new */
export async function store({ ctIndex, database }, ids, issuances) {
  const crls = issuances.map(() => null);
  const stored = await database.transaction(
    async (tx) => await ctIndex.storeIssuances(tx, ids, issuances, crls),
  );
  return stored.discovered;
}

/** Merges as long as there is something to merge. @returns {Promise<{ merges: number, postings: number }>} */
export async function mergeAll({ ctIndex, database }) {
  const sum = { merges: 0, postings: 0 };
  for (;;) {
    const merged =
      (await ctIndex.mergeRuns(database, 'small', new Date())) ??
      (await ctIndex.mergeRuns(database, 'large', new Date()));
    if (merged === null) break;
    sum.merges += 1;
    sum.postings += merged.postings;
  }
  await database.query('VACUUM ct_block_young, ct_run');
  return sum;
}

/** Adds a share of the issuances to a fresh revocation list of their issuer, which each page reads. */
export async function revokeSome({ database }, oneIn = 50) {
  await database.query(
    `INSERT INTO ct_crl (issuer, url, host, role, covers, checked_at, fresh_until)
     SELECT id, 'http://crl.example/' || id, 'crl.example', 'full', true, now(), now() + interval '7 days' FROM ct_issuer`,
  );
  await database.query(
    `INSERT INTO ct_revocation (issuer, serial, crl, revoked_at, reason)
     SELECT issuer, serial, ct_crl.id, now(), 4 FROM ct_issuance JOIN ct_crl USING (issuer) WHERE position % $1 = 0
     ON CONFLICT DO NOTHING`,
    [oneIn],
  );
}
