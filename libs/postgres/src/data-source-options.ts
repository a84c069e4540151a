import type { DataSourceOptions, MixedList } from 'typeorm';

/** How a process connects to one of the databases. */
export interface DatabaseConnection {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  /** Maximum connections of one process. */
  readonly poolSize: number;
  /** The server ends a statement that runs longer, ms. */
  readonly statementTimeoutMs: number;
  /**
   * Statements are planned each time, for the tables as they are. Otherwise a prepared statement keeps a plan that was made for
   * empty tables until they are analyzed, which may be minutes after they have grown. Default: false.
   */
  readonly plansEachTime?: boolean;
  /** The server ends a statement that waits longer for a lock, ms. Default: only its timeout ends it. */
  readonly lockTimeoutMs?: number;
}

export interface DatabaseSchema {
  readonly driver: unknown;
  readonly entities: MixedList<Function>; // eslint-disable-line @typescript-eslint/no-unsafe-function-type -- as TypeORM has it
  readonly migrations: MixedList<Function>; // eslint-disable-line @typescript-eslint/no-unsafe-function-type -- as TypeORM has it
  readonly migrationsTableName: string;
}

/** The server ends a transaction whose client is silent: a frozen process must not hold a row forever. */
const idleInTransactionTimeoutMs = 10_000;
const connectTimeoutMs = 5_000;

export const dataSourceOptions = (
  {
    url,
    applicationName,
    poolSize,
    statementTimeoutMs,
    lockTimeoutMs,
    plansEachTime = false,
  }: DatabaseConnection,
  schema: DatabaseSchema,
): DataSourceOptions => ({
  type: 'postgres',
  ...schema,
  ...{ url, applicationName, poolSize },
  connectTimeoutMS: connectTimeoutMs,
  synchronize: false,
  logging: false,
  extra: {
    statement_timeout: statementTimeoutMs,
    ...(plansEachTime && { options: '-c plan_cache_mode=force_custom_plan -c jit=off' }),
    lock_timeout: lockTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionTimeoutMs,
    keepAlive: true,
  },
});
