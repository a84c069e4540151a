export { DatabaseClient, DatabasePool, databaseDriver } from './database-pool';
export { LeaseLost, leases } from './lease';
