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

/** What a database contains besides the core schema. */
export interface TestTemplate {
  /** Letters, digits and `_`; unique per content. */
  readonly name: string;
  /** Called once per run, with a migrated, empty database; leaves no connection open. */
  readonly prepare: (url: string, rolePrefix: string) => Promise<void>;
}

/**
 * A migrated, empty database of the caller's own on the run's real PostgreSQL: create it in `beforeAll`, dispose of it in
 * `afterAll`, after whatever was connected to it. One that is forgotten goes when the run ends.
 */
export async function testDatabase(prepared?: TestTemplate): Promise<TestDatabase> {
  const { databaseUrl, template, rolePrefix, poolerPort } = testRun();
  const name = `${rolePrefix}${randomBytes(6).toString('hex')}`;
  const source = prepared === undefined ? template : await templateOf(prepared);
  await administer(databaseUrl, createFrom(name, source));
  const direct = addressOf(name);
  const url = new URL(direct);
  if (poolerPort !== null) {
    await withClient(direct.href, async (client) => await copySettings(client, source, name));
    url.port = poolerPort;
  }
  return opened({ direct, url }, rolePrefix, async () => await administer(databaseUrl, dropping(name)));
}

/** The server that `CITUS_URL` names; undefined: specs run without Citus. */
export function citusUrl(): string | undefined {
  return process.env['CITUS_URL'];
}

/**
 * The same on the servers of Citus that are known in the database of `CITUS_URL`, which has no templates.
 *
 * @param prepare called with an empty database that has the extension and its workers
 */
export async function citusDatabase(prepare: TestTemplate['prepare']): Promise<TestDatabase> {
  const coordinator = citusUrl();
  if (coordinator === undefined) throw new Error('CITUS_URL is not set.');
  const { rolePrefix } = testRun();
  const name = `${rolePrefix}${randomBytes(6).toString('hex')}`;
  const nodes = await nodesOf(coordinator);
  for (const { url } of nodes) {
    await administer(url.href, `CREATE DATABASE "${name}"`);
    await administer(databaseOf(url, name).href, 'CREATE EXTENSION citus');
  }
  const url = databaseOf(new URL(coordinator), name);
  for (const { host, port, isCoordinator } of nodes)
    await administer(
      url.href,
      `SELECT citus_${isCoordinator ? 'set_coordinator_host' : 'add_node'}('${host}', ${port})`,
    );
  // Roles belong to the server: two specs would create them at the same time.
  await withClient(coordinator, async (client) => {
    await client.query('SELECT pg_advisory_lock(hashtext($1))', [rolePrefix]);
    await prepare(url.href, rolePrefix);
  });
  return opened({ direct: url, url }, rolePrefix, async () => {
    for (const node of nodes) await administer(node.url.href, dropping(name));
  });
}

interface CitusNode {
  readonly host: string;
  readonly port: number;
  readonly isCoordinator: boolean;
  readonly url: URL;
}

async function nodesOf(coordinator: string): Promise<CitusNode[]> {
  const nodes: CitusNode[] = [];
  await withClient(coordinator, async (client) => {
    const { rows } = await client.query<Omit<CitusNode, 'url'>>(
      `SELECT nodename AS host, nodeport AS port, groupid = 0 AS "isCoordinator" FROM pg_dist_node ORDER BY groupid`,
    );
    for (const node of rows) {
      const url = new URL(coordinator);
      url.host = `${node.host}:${node.port}`;
      nodes.push({ ...node, url });
    }
  });
  return nodes;
}

function databaseOf(server: URL, name: string): URL {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url;
}

const dropping = (name: string) => `DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`;

/** @param url for the code under test, maybe through a pooler */
function opened(
  { direct, url }: { readonly direct: URL; readonly url: URL },
  rolePrefix: string,
  drop: () => Promise<void>,
): TestDatabase {
  const pool = new Pool({ connectionString: direct.href, max: poolSize, allowExitOnIdle: true });
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
    dispose: () => (disposed ??= pool.end().then(drop)),
  };
}

/** Copies files: half the processor time of copying pages through the write-ahead log. */
const createFrom = (name: string, template: string) =>
  `CREATE DATABASE "${name}" TEMPLATE "${template}" STRATEGY FILE_COPY`;

/** A copy of a database lacks the settings that roles have in the original. */
async function copySettings(client: Client, from: string, to: string): Promise<void> {
  const { rows } = await client.query<{ statement: string }>(
    `SELECT format('ALTER ROLE %I IN DATABASE %I SET %I = %L', rolname, $2::text, split_part(setting, '=', 1),
       substr(setting, strpos(setting, '=') + 1)) AS statement
     FROM pg_db_role_setting JOIN pg_roles ON pg_roles.oid = setrole, unnest(setconfig) AS setting
     WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = $1)`,
    [from, to],
  );
  for (const { statement } of rows) await client.query(statement);
}

function addressOf(database: string): URL {
  return databaseOf(new URL(testRun().databaseUrl), database);
}

/** The first spec that needs the template prepares it, while others wait. */
async function templateOf({ name, prepare }: TestTemplate): Promise<string> {
  const { databaseUrl, template, rolePrefix } = testRun();
  const finished = `${rolePrefix}${name}_template`;
  const unfinished = `${finished}_unfinished`;
  await withClient(databaseUrl, async (client) => {
    // Held by the session.
    await client.query('SELECT pg_advisory_lock(hashtext($1))', [finished]);
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [finished]);
    if (rowCount !== 0) return;
    // Of a spec that failed to prepare it.
    await client.query(`DROP DATABASE IF EXISTS "${unfinished}" WITH (FORCE)`);
    await client.query(createFrom(unfinished, template));
    await prepare(addressOf(unfinished).href, rolePrefix);
    await client.query(`ALTER DATABASE "${unfinished}" RENAME TO "${finished}"`);
  });
  return finished;
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
  await withClient(connectionString, async (client) => await client.query(statement));
}

async function withClient(
  connectionString: string,
  work: (client: Client) => Promise<unknown>,
): Promise<void> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
