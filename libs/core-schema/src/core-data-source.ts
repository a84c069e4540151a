import { type DatabaseConnection, dataSourceOptions, type UsedSchema } from '@certwright/postgres';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { coreEntities } from './core-entities';
import { coreMigrations } from './migrations/core-migrations';
import { coreSchema } from './roles/core-schema';
import { preparingDriver } from './transactions/preparing-client';

const migrationsTable = 'core_migration';

export const usedCoreSchema: UsedSchema = {
  database: 'core',
  setting: 'DATABASE_URL',
  migrationsTable,
  migrations: coreMigrations,
  grants: coreSchema,
};

export const coreDataSourceOptions = (database: DatabaseConnection): DataSourceOptions =>
  dataSourceOptions(database, {
    driver: preparingDriver,
    entities: coreEntities,
    migrations: coreMigrations,
    migrationsTableName: migrationsTable,
  });

export const coreDataSource = (database: DatabaseConnection): DataSource =>
  new DataSource(coreDataSourceOptions(database));
