export { DatabaseClient, DatabasePool, databaseDriver } from './database-pool';
