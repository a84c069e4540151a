// With TEST_POOLER, the code under test connects through a PgBouncer (run-services.mjs): specs that open connections themselves
// need not say so.
const {
  CERTWRIGHT_TEST_POOLER_PORT: port,
  CERTWRIGHT_TEST_ROLE_PREFIX: prefix,
  DATABASE_POOLER: kind,
} = process.env;

if (port !== undefined) {
  jest.mock('../../libs/postgres/src/database-pool', () => {
    const actual = jest.requireActual('../../libs/postgres/src/database-pool');
    const pooled = (config = {}) => {
      const url = typeof config.url === 'function' ? config.url() : config.url;
      // Not by the port: some specs have a link of their own in between.
      const isOfRun = url !== undefined && new URL(url).pathname.startsWith(`/${prefix}`);
      return isOfRun ? { ...config, pooler: kind } : config;
    };
    class DatabaseClient extends actual.DatabaseClient {
      constructor(config) {
        super(pooled(config));
      }
    }
    class DatabasePool extends actual.DatabasePool {
      constructor(config, Client = DatabaseClient) {
        super(config, Client);
      }
    }
    const databaseDriver = { ...actual.databaseDriver, Client: DatabaseClient, Pool: DatabasePool };
    return { ...actual, DatabaseClient, DatabasePool, databaseDriver };
  });
}
