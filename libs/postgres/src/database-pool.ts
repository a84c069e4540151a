import type { EventEmitter } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import * as pg from 'pg';
import { type ColumnsOfStatements, PreparedQuery } from './prepared-query';
import { beginReading, type SessionSettings, startupOptions } from './session-settings';

/** `postgres://user:password@host:port/database`; a function is called for each connection: the password may change. */
export type DatabaseUrl = string | (() => string);

/**
 * What is between the process and PostgreSQL. `transaction`: a pooler, such as PgBouncer in transaction mode, which gives each
 * transaction another session. `transaction-prepared`: one that also keeps prepared statements (PgBouncer 1.21 or newer
 * with `max_prepared_statements`).
 */
export type DatabasePooler = 'none' | 'transaction' | 'transaction-prepared';

export interface DatabaseClientConfig extends Omit<pg.PoolConfig, 'connectionString'> {
  /** Sends a statement while the results of earlier ones on the connection are still to come. Default: false. */
  readonly pipeline?: boolean;
  readonly url?: DatabaseUrl;
  /** Default: none. */
  readonly pooler?: DatabasePooler;
  /** Startup parameters without a pooler; of each transaction of `readOnce` behind one. */
  readonly session?: SessionSettings;
}

/** A statement that only reads. */
export interface Read extends pg.QueryConfig {
  /** How long the client waits, ms. Default: until the connection ends. */
  readonly query_timeout?: number;
  /** Settings that differ for this statement: it then has a transaction. */
  readonly session?: SessionSettings;
}

/**
 * A connection whose loss never ends the process. `pg` emits `error` on a client when its connection is lost, and
 * pg-pool listens only while the client is idle: a client that is checked out and has no statement under way, or whose
 * statement is just failing, has no listener otherwise. The statement under way, or the next one, rejects.
 */
export class DatabaseClient extends pg.Client {
  private isOfStandby = false;
  private readonly pooler: DatabasePooler;
  private readonly session: SessionSettings;
  private readonly connectTimeoutMs: number | undefined;
  private readonly columns: ColumnsOfStatements = new Map();

  constructor({ url, pooler = 'none', session = {}, ...config }: DatabaseClientConfig = {}) {
    super({
      ...config,
      ...(url !== undefined && { connectionString: typeof url === 'function' ? url() : url }),
    });
    if (pooler === 'none') this.addOptions(startupOptions(session));
    this.pooler = pooler;
    this.session = session;
    this.connectTimeoutMs = config.connectionTimeoutMillis;
    this.on('error', () => undefined);
    const { connection } = this as unknown as { readonly connection: EventEmitter };
    connection.on('errorMessage', ({ code }: { readonly code?: string }) => {
      if (code === readOnlyTransaction) this.isOfStandby = true;
    });
  }

  /** Besides those of the URL, which `pg` prefers. */
  private addOptions(options: string): void {
    const { connectionParameters } = this as unknown as { connectionParameters: { options?: string } };
    connectionParameters.options = [connectionParameters.options, options].filter(Boolean).join(' ');
  }

  // pg declares a dozen overloads.
  override query(...args: unknown[]): never {
    const [config, ...others] = args;
    const plain = super.query.bind(this) as (...args: unknown[]) => never;
    if (this.pooler === 'transaction-prepared' || !isNamed(config)) return plain(...args);
    if (this.pooler === 'transaction') {
      const { name: _ofAnotherSession, ...unnamed } = config;
      return plain(unnamed, ...others);
    }
    const result = resultOf(plain(new PreparedQuery(config, this.columns)));
    // pg-pool passes one for its own `query`, and no values before it.
    const callback = others.find((each) => typeof each === 'function') as Callback | undefined;
    if (callback === undefined) return result as never;
    return void result.then((rows) => callback(null, rows), callback) as never;
  }

  /** One statement that only reads, with the settings of the session also behind a pooler: there in a transaction. */
  async readOnce<Row extends pg.QueryResultRow>(read: Read): Promise<pg.QueryResult<Row>> {
    const { session, ...config } = read;
    const run = this.query.bind(this) as unknown as (config: pg.QueryConfig) => Promise<pg.QueryResult<Row>>;
    if (this.pooler === 'none' && session === undefined) return await run(config);
    const { query_timeout } = config;
    const settings = this.pooler === 'none' ? session : { ...this.session, ...session };
    // A pooler that has no server, as during a fail-over, delays it: this is the wait for a connection.
    const waitsMs = this.connectTimeoutMs ?? query_timeout;
    await run({ text: beginReading(settings ?? {}), query_timeout: waitsMs } as pg.QueryConfig);
    const result = await run(config);
    await run({ text: 'COMMIT', query_timeout } as pg.QueryConfig);
    return result;
  }

  /**
   * After a fail-over, a connection to the old primary, which is a standby now, would refuse every write for good. A
   * pooler keeps its own connection to the server, unless the client leaves it within a transaction.
   */
  endIfOfStandby(): void {
    if (!this.isOfStandby) return;
    if (this.pooler !== 'none') super.query('BEGIN', () => undefined);
    void this.end().catch(() => undefined);
  }
}

type Callback = (error: unknown, result?: pg.QueryResult) => void;

async function resultOf(query: PromiseLike<pg.QueryResult>): Promise<pg.QueryResult> {
  try {
    return await query;
  } catch (error) {
    // Leads to the caller, instead of to the socket.
    if (error instanceof Error) Error.captureStackTrace(error);
    throw error;
  }
}

const isNamed = (config: unknown): config is pg.QueryConfig & { readonly name: string } =>
  typeof config === 'object' && config !== null && 'name' in config && !('submit' in config);

/** read_only_sql_transaction (PostgreSQL, appendix A). */
const readOnlyTransaction = '25006';

/**
 * The only pool that applications use.
 *
 * @param Client the class of its connections
 */
export class DatabasePool extends pg.Pool {
  constructor(config: DatabaseClientConfig, Client: typeof DatabaseClient = DatabaseClient) {
    super({ ...config, Client } as pg.PoolConfig);
    // An idle connection that is lost is replaced when one is needed.
    this.on('error', () => undefined);
    // Before the pool decides whether to keep the connection: it removes those that are ending.
    this.on('release', (_error, client) => {
      if (client instanceof DatabaseClient) client.endIfOfStandby();
    });
  }

  /**
   * As `DatabaseClient.readOnce`. Repeats a statement that a replica ended because it conflicted with what the primary did.
   *
   * @param readOf called once there is a connection; it may throw
   */
  async readOnce<Row extends pg.QueryResultRow>(readOf: () => Read): Promise<pg.QueryResult<Row>> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        // A replica can also end a connection that is just being opened.
        const client = (await this.connect()) as unknown as DatabaseClient & pg.PoolClient;
        return await this.readWith<Row>(client, readOf);
      } catch (error) {
        if (attempt >= maxReads || !isRecoveryConflict(error)) throw error;
      }
      await pause(2 ** attempt);
    }
  }

  private async readWith<Row extends pg.QueryResultRow>(
    client: DatabaseClient & pg.PoolClient,
    readOf: () => Read,
  ): Promise<pg.QueryResult<Row>> {
    let isUsable = true;
    try {
      const read = readOf();
      isUsable = false;
      const result = await client.readOnce<Row>(read);
      isUsable = true;
      return result;
    } finally {
      client.release(!isUsable);
    }
  }
}

/**
 * Max executions of a statement: the next one has a newer snapshot, so it conflicts only with what happens meanwhile. The pauses
 * between them are 2, 4, … 128 ms: a primary that changes a lot at once would conflict with all executions of a few milliseconds.
 */
const maxReads = 8;

/** Of a replica that ended a statement or session, so that it need not wait with what the primary did (PostgreSQL, 26.4.2). */
const recoveryConflicts: ReadonlySet<unknown> = new Set([
  '40001', // canceling statement due to conflict with recovery; also of a session that was idle
  '40P01', // the statement and the replay waited for each other
  '57P01', // terminating connection due to conflict with recovery
  '57P04', // its database was dropped, and may be created again
]);

const isRecoveryConflict = (error: unknown): boolean =>
  recoveryConflicts.has((error as { readonly code?: unknown } | null)?.code);

/** The package `pg` for TypeORM's option `driver`. */
export const databaseDriver = { ...pg, Client: DatabaseClient, Pool: DatabasePool };
