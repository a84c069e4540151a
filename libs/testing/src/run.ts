/** What the test run passes to its workers (tools/test/global-setup.mjs). */
export interface TestRun {
  /** A database in which others may be created; its user may create and drop databases. */
  readonly databaseUrl: string;
  /** Name of the migrated database from which every spec's own is copied. */
  readonly template: string;
  /** Begins the names of the roles of processes. */
  readonly rolePrefix: string;
  readonly redisUrl: string;
  /** Of a PgBouncer between specs and their databases; null: there is none. */
  readonly poolerPort: string | null;
}

/** @throws Error when specs run without the run's global setup */
export function testRun(): TestRun {
  return {
    databaseUrl: setting('CERTWRIGHT_TEST_DATABASE_URL'),
    template: setting('CERTWRIGHT_TEST_TEMPLATE'),
    rolePrefix: setting('CERTWRIGHT_TEST_ROLE_PREFIX'),
    redisUrl: setting('CERTWRIGHT_TEST_REDIS_URL'),
    poolerPort: process.env['CERTWRIGHT_TEST_POOLER_PORT'] ?? null,
  };
}

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) {
    throw new Error(
      `${name} is not set: start specs with \`npm test\`, or Jest with tools/test/jest.config.cjs.`,
    );
  }
  return value;
}
