import type { DataSourceOptions, MixedList } from 'typeorm';
import type { DatabaseClientConfig, DatabasePooler, DatabaseUrl } from './database-pool';
import { sessionSettings, type StatementLimits } from './session-settings';

/** How a process connects to one of the databases. */
export interface DatabaseConnection extends StatementLimits {
  readonly url: DatabaseUrl;
  /** Default: none. */
  readonly pooler?: DatabasePooler;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  /** Maximum connections of one process. */
  readonly poolSize: number;
}

export interface DatabaseSchema {
  readonly driver: unknown;
  readonly entities: MixedList<Function>; // eslint-disable-line @typescript-eslint/no-unsafe-function-type -- as TypeORM has it
  readonly migrations: MixedList<Function>; // eslint-disable-line @typescript-eslint/no-unsafe-function-type -- as TypeORM has it
  readonly migrationsTableName: string;
}

const connectTimeoutMs = 5_000;

export const dataSourceOptions = (
  { url, pooler, applicationName, poolSize, ...limits }: DatabaseConnection,
  schema: DatabaseSchema,
): DataSourceOptions => ({
  type: 'postgres',
  ...schema,
  ...{ applicationName, poolSize },
  // TypeORM reads only the name of the database from it.
  url: typeof url === 'function' ? url() : url,
  connectTimeoutMS: connectTimeoutMs,
  synchronize: false,
  // TypeORM would create uuid-ossp; gen_random_uuid() is part of PostgreSQL, and roles may create nothing.
  installExtensions: false,
  uuidExtension: 'pgcrypto',
  logging: false,
  extra: {
    url,
    pooler,
    session: sessionSettings(limits),
    keepAlive: true,
  } satisfies DatabaseClientConfig,
});
