import {
  type DatabaseConnection,
  databaseDriver,
  dataSourceOptions,
  type UsedSchema,
} from '@certwright/postgres';
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
import { ctSchema } from './roles/ct-schema';

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

const migrationsTable = 'ct_migration';

export const usedCtSchema: UsedSchema = {
  database: 'ct',
  setting: 'CT_DATABASE_URL',
  migrationsTable,
  migrations: ctMigrations,
  grants: ctSchema,
};

export const ctDataSourceOptions = (database: DatabaseConnection): DataSourceOptions =>
  dataSourceOptions(database, {
    driver: databaseDriver,
    entities: ctEntities,
    migrations: ctMigrations,
    migrationsTableName: migrationsTable,
  });

export const ctDataSource = (database: DatabaseConnection): DataSource =>
  new DataSource(ctDataSourceOptions(database));
