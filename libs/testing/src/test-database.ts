import { randomBytes } from 'node:crypto';
import { Client, Pool, type QueryResultRow } from 'pg';
import { testRun } from './run';

/** One session for `query` while another test step may still hold one. */
const poolSize = 2;

export interface TestDatabase {
  /** For the code under test: `postgresql://user:password@127.0.0.1:port/name`. */
  readonly url: string;
  /** The same as the role of a process: with the grants that it has in production, and no others. */
  urlOf(process: string): string;
  /** Begins the names of those roles. */
  readonly rolePrefix: string;
  /** Looks and prepares behind the back of the code under test. */
  query<Row extends QueryResultRow = QueryResultRow>(
    text: string,
    values?: readonly unknown[],
  ): Promise<Row[]>;
  /** All changes of `work`, or none: the code under test sees no state in between. */
  transaction<T>(work: (tx: Pick<TestDatabase, 'query'>) => Promise<T>): Promise<T>;
  /** Drops the database, and ends the sessions that are still open on it. */
  dispose(): Promise<void>;
}

/**
 * A migrated, empty database of the caller's own on the run's real PostgreSQL: create it in `beforeAll`, dispose of it in
 * `afterAll`, after whatever was connected to it. One that is forgotten goes when the run ends.
 */
export async function testDatabase(): Promise<TestDatabase> {
  const { databaseUrl, template, rolePrefix } = testRun();
  const name = `${template.replace(/template$/, '')}${randomBytes(6).toString('hex')}`;
  await administer(databaseUrl, `CREATE DATABASE "${name}" TEMPLATE "${template}"`);
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  const pool = new Pool({ connectionString: url.href, max: poolSize, allowExitOnIdle: true });
  // A spec may stop the server or end the session on purpose; the next query tells it, not the process.
  pool.on('error', () => undefined);
  let disposed: Promise<void> | undefined;
  return {
    url: url.href,
    rolePrefix,
    urlOf: (process) => as(url, `${rolePrefix}${process.replaceAll('-', '_')}`),
    query: async <Row extends QueryResultRow>(text: string, values: readonly unknown[] = []) =>
      (await pool.query<Row>(text, [...values])).rows,
    transaction: async (work) => await inTransaction(pool, work),
    dispose: () =>
      (disposed ??= pool
        .end()
        .then(() => administer(databaseUrl, `DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`))),
  };
}

/** Every role of the run has the password of the run's own user. */
function as(url: URL, role: string): string {
  const own = new URL(url);
  own.username = role;
  return own.href;
}

async function inTransaction<T>(
  pool: Pool,
  work: (tx: Pick<TestDatabase, 'query'>) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const done = await work({
      query: async <Row extends QueryResultRow>(text: string, values: readonly unknown[] = []) =>
        (await client.query<Row>(text, [...values])).rows,
    });
    await client.query('COMMIT');
    client.release();
    return done;
  } catch (error) {
    // What was begun is undone with its session.
    client.release(true);
    throw error;
  }
}

async function administer(connectionString: string, statement: string): Promise<void> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
