import { coreDataSource } from '@certwright/persistence';
import type { DataSource } from 'typeorm';
import { startedPlatform } from './started-platform';

/** A person waits for the answer. */
const statementTimeoutMs = 60_000;

/** Runs one command against the core database and closes it again. */
export type WithDatabase = (work: (database: DataSource) => Promise<void>) => Promise<void>;

export const withDatabase: WithDatabase = async (work) => {
  const url = process.env['DATABASE_URL'] ?? (await startedPlatform())?.database_url;
  if (url === undefined) {
    throw new Error(
      'DATABASE_URL is not set, and no "npm start" has left its addresses in .certwright/start.json.',
    );
  }
  const database = coreDataSource({
    url,
    applicationName: 'certwright-admin',
    poolSize: 2,
    statementTimeoutMs,
  });
  await database.initialize();
  try {
    await work(database);
  } finally {
    await database.destroy();
  }
};
