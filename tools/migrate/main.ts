import 'reflect-metadata';
import { coreDataSource } from '@certwright/persistence';
import type { DataSource } from 'typeorm';

const usage = `Brings the core database to the newest schema.

  npm run migrate                     runs every migration that has not run yet
  npm run migrate -- --revert         takes the newest one back
  npm run migrate -- --check-drift    fails when entities and migrations disagree (on an empty database of its own)
  npm run migrate -- --help

DATABASE_URL   the database, postgres://user:password@host:port/name (with --check-drift: any database of a server
               on which another one may be created)
`;

/** Creating an index on a large table takes its time. */
const statementTimeoutMs = 60 * 60 * 1_000;

async function main(args: readonly string[]): Promise<void> {
  if (args.includes('--help')) return void process.stdout.write(usage);
  const url = process.env['DATABASE_URL'];
  if (url === undefined) throw new Error(`DATABASE_URL is not set.\n\n${usage}`);
  if (args.includes('--check-drift')) return await checkDrift(url);
  await withDatabase(url, async (database) => {
    if (args.includes('--revert')) return await database.undoLastMigration({ transaction: 'each' });
    const run = await database.runMigrations({ transaction: 'each' });
    for (const { name } of run) console.log(`migrated: ${name}`);
    if (run.length === 0) console.log('The schema is up to date.');
  });
}

/** Migrates an empty database up, down and up again, and asks TypeORM what it would still change. */
async function checkDrift(url: string): Promise<void> {
  const name = `certwright_drift_${process.pid}`;
  await withDatabase(url, async (database) => await database.query(`CREATE DATABASE ${name}`));
  try {
    const own = new URL(url);
    own.pathname = `/${name}`;
    await withDatabase(own.href, async (database) => {
      const migrations = await database.runMigrations({ transaction: 'each' });
      for (const _ of migrations) await database.undoLastMigration({ transaction: 'each' });
      await database.runMigrations({ transaction: 'each' });
      const { upQueries } = await database.driver.createSchemaBuilder().log();
      if (upQueries.length === 0)
        return void console.log('No drift: entities and migrations agree, up and down.');
      for (const { query } of upQueries) console.error(query);
      throw new Error(
        'Entities and migrations disagree: the statements above are missing from the migrations.',
      );
    });
  } finally {
    await withDatabase(url, async (database) => await database.query(`DROP DATABASE IF EXISTS ${name}`));
  }
}

async function withDatabase(url: string, work: (database: DataSource) => Promise<unknown>): Promise<void> {
  const database = coreDataSource({
    url,
    applicationName: 'certwright-migrate',
    poolSize: 1,
    statementTimeoutMs,
  });
  await database.initialize();
  try {
    await work(database);
  } finally {
    await database.destroy();
  }
}

main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
});
