import { readFileSync } from 'node:fs';
import path from 'node:path';
import { RunningFront } from '@certwright/core-testing';
import { ensurePartitions } from '@certwright/ct-index';
import { ctDataSource, ctSchema } from '@certwright/ct-schema';
import { applyGrants } from '@certwright/postgres';
import { monitoringSettings } from '../config';
import { start } from '../front';

export type { Tenant } from '@certwright/core-testing';

const front = {
  name: 'monitoring',
  settings: monitoringSettings,
  start,
  document: JSON.parse(readFileSync(path.join(__dirname, '../../openapi.json'), 'utf8')) as object,
};

export type RunningApi = RunningFront;

type Environment = Readonly<Record<string, string>>;

/** The whole API on a real PostgreSQL, a real Redis and a real port. */
export const RunningApi = {
  /** Without a ct database, unless `settings` name one: the index is only read for some members. */
  start: async (settings: Environment = {}): Promise<RunningApi> =>
    await RunningFront.start(front, { CT_DATABASE_URL: 'postgres://127.0.0.1:1/none', ...settings }),

  /** With an empty index, whose tables are in the same database. */
  startWithIndex: async (settings: Environment = {}): Promise<RunningApi> =>
    await RunningFront.start(front, async (databaseUrl, ownerUrl) => {
      // The role of the process is called <prefix>monitoring.
      const prefix = new URL(databaseUrl).username.replace(/monitoring$/, '');
      await createIndex(ownerUrl, prefix);
      return { CT_DATABASE_URL: databaseUrl, ...settings };
    }),
};

async function createIndex(url: string, prefix: string): Promise<void> {
  const owner = await ctDataSource({
    url,
    applicationName: 'spec',
    poolSize: 1,
    statementTimeoutMs: 30_000,
  }).initialize();
  await owner.runMigrations({ transaction: 'each' });
  await owner.transaction(async (tx) => await applyGrants(tx, ctSchema, { prefix, passwords: {} }));
  await ensurePartitions(owner, new Date(), 2_000, 1_000);
  await owner.destroy();
}

/** A permission that suffices for every route. */
export const permission = 'Manage Monitored Domains';
