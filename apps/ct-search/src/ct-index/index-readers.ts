import { type Lookup, type PageReader, pageSession, SettledHomes } from '@certwright/ct-index';
import { DatabasePool, type DatabasePooler, type DatabaseUrl, statementName } from '@certwright/postgres';
import type { Logger } from '@certwright/service';
import type { QueryConfig } from 'pg';
import { databaseProblem, timeLimitExceeded } from './database-problem';
import { type RunQuery, type BatchLimits, LookupBatches } from './lookup-batches';

export interface IndexDatabase {
  readonly url: DatabaseUrl;
  /** Default: none. */
  readonly pooler?: DatabasePooler;
  /** Max connections for each time limit. */
  readonly poolSize: number;
  /** Whether the tables are distributed over several servers. */
  readonly isSharded: boolean;
  readonly log: Logger;
}

/** How long a request waits for a connection, ms: its time limit, within these bounds. */
const connectTimeoutMs = { min: 1_000, max: 5_000 } as const;

/** Max share of the connections for lookups of one kind. */
const shareOfBatches = 0.5;

/** Idle timeout of a connection, ms. */
const idleTimeoutMs = 30_000;

/** The caller for whom data is read. */
export interface Caller {
  /** Requests of different kinds do not wait for each other's connections. */
  readonly kind: string;
  /** Time limit of all statements of a request. */
  readonly timeLimitMs: number;
}

/** Connections with one statement timeout, and the queue for them. */
class IndexPool {
  private readonly batches = new Map<unknown, unknown>();

  constructor(
    private readonly pool: Pick<DatabasePool, 'readOnce' | 'end'>,
    private readonly limits: BatchLimits,
  ) {}

  async look<Input, Result>(
    lookup: Lookup<Input, Result>,
    inputs: readonly Input[],
    timeoutMs: () => number,
  ): Promise<readonly Result[]> {
    return await this.batchesOf(lookup).look(inputs, timeoutMs);
  }

  readonly query: RunQuery = async (text, values, timeoutMs) => {
    const { rows } = await this.pool.readOnce(() => {
      const query_timeout = Math.ceil(timeoutMs());
      if (query_timeout <= 0) throw timeLimitExceeded();
      return { name: statementName(text), text, values, query_timeout } as QueryConfig;
    });
    return rows;
  };

  async end(): Promise<void> {
    await this.pool.end();
  }

  /** There is one object per lookup. */
  private batchesOf<Input, Result>(lookup: Lookup<Input, Result>): LookupBatches<Input, Result> {
    let batches = this.batches.get(lookup) as LookupBatches<Input, Result> | undefined;
    if (batches === undefined) {
      batches = new LookupBatches(lookup, this.query, this.limits);
      this.batches.set(lookup, batches);
    }
    return batches;
  }
}

/** Statements of one request: in total, including the wait for connections, they are bound by its time limit. */
export class IndexReader implements PageReader {
  private readonly endsAtMs: number;
  /** PostgreSQL itself ends a first statement in time; one that takes 50 % longer indicates that the server is unreachable. */
  private graceMs: number;

  constructor(
    private readonly pool: Pick<IndexPool, 'query' | 'look'>,
    timeLimitMs: number,
    readonly settled: SettledHomes = new SettledHomes(),
    readonly isSharded = false,
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    this.endsAtMs = nowMs() + timeLimitMs;
    this.graceMs = 0.5 * timeLimitMs;
  }

  /**
   * @returns the rows
   * @throws Problem `timeout`, `service_outage`
   */
  async query<T = unknown>(text: string, values: unknown[] = []): Promise<T> {
    return (await this.inTime(async (timeoutMs) => await this.pool.query(text, values, timeoutMs))) as T;
  }

  /** Throws the same errors as `query`. */
  async look<Input, Result>(
    lookup: Lookup<Input, Result>,
    inputs: readonly Input[],
  ): Promise<readonly Result[]> {
    return await this.inTime(async (timeoutMs) => await this.pool.look(lookup, inputs, timeoutMs));
  }

  private async inTime<T>(read: (timeoutMs: () => number) => Promise<T>): Promise<T> {
    const { graceMs } = this;
    this.graceMs = 0;
    const leftMs = () => this.endsAtMs - this.nowMs();
    if (leftMs() <= 0) throw timeLimitExceeded();
    try {
      return await read(() => (leftMs() > 0 ? leftMs() + graceMs : 0));
    } catch (error) {
      if (graceMs === 0 && leftMs() <= 0) throw timeLimitExceeded();
      throw databaseProblem(error) ?? error;
    }
  }
}

/**
 * Connections to the ct database. The time limit of a plan is the statement timeout of a connection, so each limit has a
 * separate pool, also separate from requests without a key. There are as many pools as distinct limits, and an unused one
 * holds no connection.
 */
export class IndexReaders {
  private readonly pools = new Map<string, IndexPool>();
  private readonly settled = new SettledHomes();

  constructor(private readonly database: IndexDatabase) {}

  within({ kind, timeLimitMs }: Caller): IndexReader {
    const name = `${kind} ${timeLimitMs}`;
    let pool = this.pools.get(name);
    if (pool === undefined) {
      pool = this.openPool(timeLimitMs);
      this.pools.set(name, pool);
    }
    return new IndexReader(pool, timeLimitMs, this.settled, this.database.isSharded);
  }

  async close(): Promise<void> {
    await Promise.all([...this.pools.values()].map(async (pool) => await pool.end()));
    this.pools.clear();
  }

  private openPool(timeLimitMs: number): IndexPool {
    const { url, pooler, poolSize, isSharded, log } = this.database;
    const pool = new DatabasePool({
      url,
      pooler,
      application_name: 'ct-search',
      max: poolSize,
      connectionTimeoutMillis: Math.max(connectTimeoutMs.min, Math.min(connectTimeoutMs.max, timeLimitMs)),
      idleTimeoutMillis: idleTimeoutMs,
      keepAlive: true,
      session: { ...pageSession, statement_timeout: timeLimitMs },
    });
    pool.on('error', (error) => log.warn({ err: error }, 'connection to the ct database lost'));
    const maxRunning = Math.max(1, Math.floor(poolSize * shareOfBatches));
    return new IndexPool(pool, isSharded ? { maxRunning: poolSize, maxPerBatch: 1 } : { maxRunning });
  }
}
