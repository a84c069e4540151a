import { ctDataSource } from '@certwright/ct-persistence';
import { startedPlatform } from './started-platform';
import type { WithDatabase } from './with-database';

/** A person waits for the answer. */
const statementTimeoutMs = 60_000;

/** Runs one command against the ct database and closes it again. */
export const withCtDatabase: WithDatabase = async (work) => {
  const url = process.env['CT_DATABASE_URL'] ?? (await startedPlatform())?.ct_database_url;
  if (url === undefined)
    throw new Error(
      'CT_DATABASE_URL is not set, and no "npm start" has left its addresses in .certwright/start.json.',
    );
  const database = ctDataSource({
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
