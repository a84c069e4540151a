import { ctDataSource } from '@certwright/ct-schema';
import { coreDataSource } from '@certwright/core-schema';
import { defineSettings, poolerSettings } from '@certwright/service';
import type { DataSource } from 'typeorm';
import { startedPlatform } from './started-platform';

/** A user waits for the result. */
const statementTimeoutMs = 60_000;

/** Runs one command against a database and closes it again. */
export type WithDatabase = (work: (database: DataSource) => Promise<void>) => Promise<void>;

export const withDatabase = onDatabase('DATABASE_URL', 'database_url', coreDataSource);
export const withCtDatabase = onDatabase('CT_DATABASE_URL', 'ct_database_url', ctDataSource);

/** @param setting variable with the URL; without it, the member `stored` of the start.json of "npm start" is used */
function onDatabase(
  setting: string,
  stored: 'database_url' | 'ct_database_url',
  open: typeof coreDataSource | typeof ctDataSource,
): WithDatabase {
  return async (work) => {
    const url = process.env[setting] ?? (await startedPlatform())?.[stored];
    if (url === undefined)
      throw new Error(
        `${setting} is not set, and "npm start" has not stored its addresses in .certwright/start.json.`,
      );
    const { DATABASE_POOLER: pooler } = defineSettings(poolerSettings).read(process.env);
    const database = open({
      url,
      pooler,
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
}
