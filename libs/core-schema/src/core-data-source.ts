import { DataSource, type DataSourceOptions } from 'typeorm';
import { coreEntities } from './core-entities';
import { coreMigrations } from './migrations/core-migrations';
import { preparingDriver } from './transactions/preparing-client';

export interface CoreDatabase {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  /** Maximum connections of one process. */
  readonly poolSize: number;
  /** The server ends a statement that runs longer, ms. */
  readonly statementTimeoutMs: number;
}

/** The server ends a transaction whose client is silent: a frozen process must not hold a row forever. */
const idleInTransactionTimeoutMs = 10_000;
const connectTimeoutMs = 5_000;

export function coreDataSourceOptions(database: CoreDatabase): DataSourceOptions {
  return {
    type: 'postgres',
    driver: preparingDriver,
    url: database.url,
    applicationName: database.applicationName,
    poolSize: database.poolSize,
    connectTimeoutMS: connectTimeoutMs,
    entities: coreEntities,
    migrations: coreMigrations,
    migrationsTableName: 'core_migration',
    synchronize: false,
    logging: false,
    extra: {
      statement_timeout: database.statementTimeoutMs,
      idle_in_transaction_session_timeout: idleInTransactionTimeoutMs,
      keepAlive: true,
    },
  };
}

export function coreDataSource(database: CoreDatabase): DataSource {
  return new DataSource(coreDataSourceOptions(database));
}
