import { type DatabaseConnection, dataSourceOptions } from '@certwright/postgres';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { coreEntities } from './core-entities';
import { coreMigrations } from './migrations/core-migrations';
import { preparingDriver } from './transactions/preparing-client';

export const coreDataSourceOptions = (database: DatabaseConnection): DataSourceOptions =>
  dataSourceOptions(database, {
    driver: preparingDriver,
    entities: coreEntities,
    migrations: coreMigrations,
    migrationsTableName: 'core_migration',
  });

export const coreDataSource = (database: DatabaseConnection): DataSource =>
  new DataSource(coreDataSourceOptions(database));
