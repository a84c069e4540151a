import { databaseDriver } from '@certwright/postgres';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { CtIssuerProfileEntity } from './issuers/ct-issuer-profile.entity';
import { CtIssuerEntity } from './issuers/ct-issuer.entity';
import { CtLogEvidenceEntity } from './logs/ct-log-evidence.entity';
import { CtLogEntity } from './logs/ct-log.entity';
import { CtOddEntryEntity } from './logs/ct-odd-entry.entity';
import { ctMigrations } from './migrations/ct-migrations';
import { CtCrlHostEntity } from './revocations/ct-crl-host.entity';
import { CtCrlEntity } from './revocations/ct-crl.entity';
import { CtRevocationEntity } from './revocations/ct-revocation.entity';

/** The tables of the `ct` database that are not partitioned; the others are used in SQL only. */
const ctEntities = [
  CtLogEntity,
  CtLogEvidenceEntity,
  CtOddEntryEntity,
  CtIssuerEntity,
  CtIssuerProfileEntity,
  CtCrlEntity,
  CtCrlHostEntity,
  CtRevocationEntity,
];

export interface CtDatabase {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  /** Maximum number of connections of a process. */
  readonly poolSize: number;
  /** Statement timeout, ms. */
  readonly statementTimeoutMs: number;
}

/** The server ends idle transactions, so that a lost client does not hold the sequencer. */
const idleInTransactionTimeoutMs = 10_000;
const connectTimeoutMs = 5_000;

export function ctDataSourceOptions(database: CtDatabase): DataSourceOptions {
  return {
    type: 'postgres',
    driver: databaseDriver,
    url: database.url,
    applicationName: database.applicationName,
    poolSize: database.poolSize,
    connectTimeoutMS: connectTimeoutMs,
    entities: ctEntities,
    migrations: ctMigrations,
    migrationsTableName: 'ct_migration',
    synchronize: false,
    logging: false,
    extra: {
      statement_timeout: database.statementTimeoutMs,
      idle_in_transaction_session_timeout: idleInTransactionTimeoutMs,
      keepAlive: true,
    },
  };
}

export function ctDataSource(database: CtDatabase): DataSource {
  return new DataSource(ctDataSourceOptions(database));
}
