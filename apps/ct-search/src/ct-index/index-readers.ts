import {
  type Lookup,
  type PageReader,
  pageSession,
  preparedPageSession,
  RecentBlocks,
  RunFilters,
  SettledHomes,
} from '@certwright/ct-index';
import { citusOnce } from '@certwright/ct-schema';
import { DatabasePool, type DatabasePooler, type DatabaseUrl, statementName } from '@certwright/postgres';
import type { Logger } from '@certwright/service';
import { databaseProblem, problemOfRead, timeLimitExceeded } from './database-problem';
import { type RunQuery, type BatchLimits, LookupBatches } from './lookup-batches';

export interface IndexDatabase {
  readonly url: DatabaseUrl;
  /** Default: none. */
  readonly pooler?: DatabasePooler;
  /** Max connections for each time limit. */
  readonly poolSize: number;
  readonly log: Logger;
}

/** How long a request waits for a connection, ms: its time limit, within these bounds. */
const connectTimeoutMs = { min: 1_000, max: 5_000 } as const;

/** Max share of the connections for lookups of one kind. */
const shareOfBatches = 0.5;

/**
 * PostgreSQL ends a statement in time. One that takes this share of the time limit longer indicates that the server is
 * unreachable.
 */
const grace = 0.5;

/** With less than this share of the time limit left, a statement gets a timeout of its own: two more messages to the server. */
const fullTime = 0.9;

/** Idle timeout of a connection, ms. */
const idleTimeoutMs = 30_000;

/** The caller for whom data is read. */
export interface Caller {
  /** Requests of different kinds do not wait for each other's connections. */
  readonly kind: string;
  /** Absent: no blocks are kept for its next page. */
  readonly accountId?: string;
  /** Time limit of all statements of a request. */
  readonly timeLimitMs: number;
}

/** Connections with one statement timeout, and the queue for them. */
class IndexPool {
  private readonly batches = new Map<unknown, unknown>();
  private pool: DatabasePool | undefined;

  /** @param open once it is known whether the tables are distributed over several servers */
  constructor(
    readonly isSharded: () => boolean | Promise<boolean>,
    private readonly poolSize: number,
    private readonly timeLimitMs: number,
    private readonly open: (isSharded: boolean) => DatabasePool,
  ) {}

  /** Not async, as few promises as possible: they are a tenth of what the process does for a page. */
  look<Input, Result>(
    lookup: Lookup<Input, Result>,
    inputs: readonly Input[],
    timeoutMs: () => number,
  ): Promise<readonly Result[]> {
    const within = (isSharded: boolean) =>
      this.batchesOf(lookup, limitsOf(this.poolSize, isSharded)).look(inputs, timeoutMs);
    const isSharded = this.isSharded();
    return typeof isSharded === 'boolean' ? within(isSharded) : isSharded.then(within);
  }

  readonly query: RunQuery = async (text, values, timeoutMs) => {
    let reads = 0;
    try {
      const isSharded = await this.isSharded();
      this.pool ??= this.open(isSharded);
      const { rows } = await this.pool.readOnce(() => {
        reads += 1;
        const leftMs = Math.ceil(timeoutMs());
        if (leftMs <= 0) throw timeLimitExceeded();
        return {
          name: statementName(text),
          text,
          values,
          query_timeout: leftMs + grace * this.timeLimitMs,
          ...(leftMs < fullTime * this.timeLimitMs && { session: { statement_timeout: leftMs } }),
        };
      });
      return rows;
    } catch (error) {
      throw problemOfRead(error, reads);
    }
  };

  async end(): Promise<void> {
    await this.pool?.end();
  }

  /** There is one object per lookup. */
  private batchesOf<Input, Result>(
    lookup: Lookup<Input, Result>,
    limits: BatchLimits,
  ): LookupBatches<Input, Result> {
    let batches = this.batches.get(lookup) as LookupBatches<Input, Result> | undefined;
    if (batches === undefined) {
      batches = new LookupBatches(lookup, this.query, limits);
      this.batches.set(lookup, batches);
    }
    return batches;
  }
}

/** A batch of lookups has keys of several shards, and cannot be routed to one server. */
function limitsOf(poolSize: number, isSharded: boolean): BatchLimits {
  return isSharded
    ? { maxRunning: poolSize, maxPerBatch: 1 }
    : { maxRunning: Math.max(1, Math.floor(poolSize * shareOfBatches)) };
}

/** Statements of one request: in total, including the wait for connections, they are bound by its time limit. */
export class IndexReader implements PageReader {
  private readonly endsAtMs: number;
  readonly settled: SettledHomes;
  readonly filters: RunFilters;
  readonly recent: RecentBlocks | undefined;

  constructor(
    private readonly pool: Pick<IndexPool, 'query' | 'look' | 'isSharded'>,
    timeLimitMs: number,
    { settled, filters, recent }: Pick<PageReader, 'settled' | 'filters' | 'recent'> = {
      settled: new SettledHomes(),
      filters: new RunFilters(),
    },
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    this.settled = settled;
    this.filters = filters;
    this.recent = recent;
    this.endsAtMs = nowMs() + timeLimitMs;
  }

  /**
   * @returns the rows
   * @throws Problem `timeout`, `service_outage`
   */
  async query<T = unknown>(text: string, values: unknown[] = []): Promise<T> {
    if (this.leftMs() <= 0) throw timeLimitExceeded();
    return (await this.pool.query(text, values, this.leftMs)) as T;
  }

  /** Throws the same errors as `query`. */
  look<Input, Result>(lookup: Lookup<Input, Result>, inputs: readonly Input[]): Promise<readonly Result[]> {
    return this.leftMs() > 0
      ? this.pool.look(lookup, inputs, this.leftMs)
      : Promise.reject(timeLimitExceeded());
  }

  /** Throws the same errors as `query`. */
  isSharded(): boolean | Promise<boolean> {
    return this.pool.isSharded();
  }

  private readonly leftMs = () => this.endsAtMs - this.nowMs();
}

/**
 * Connections to the ct database. The time limit of a plan is the statement timeout of a connection, so each limit has a
 * separate pool, also separate from requests without a key. There are as many pools as distinct limits, and an unused one
 * holds no connection.
 */
export class IndexReaders {
  private readonly pools = new Map<string, IndexPool>();
  private readonly settled = new SettledHomes();
  private readonly filters = new RunFilters();
  private readonly recent = new RecentBlocks();

  private readonly isSharded: () => boolean | Promise<boolean>;

  constructor(private readonly database: IndexDatabase) {
    this.isSharded = citusOnce({ query: async (text: string) => await this.query(text) });
  }

  within({ kind, accountId, timeLimitMs }: Caller): IndexReader {
    const name = `${kind} ${timeLimitMs}`;
    let pool = this.pools.get(name);
    if (pool === undefined) {
      pool = this.openPool(timeLimitMs);
      this.pools.set(name, pool);
    }
    const recent = accountId === undefined ? undefined : this.recent.of(accountId);
    const reader = new IndexReader(pool, timeLimitMs, {
      settled: this.settled,
      filters: this.filters,
      recent,
    });
    if (this.filters.isDue) void this.renewFilters(new IndexReader(pool, timeLimitMs));
    return reader;
  }

  /** Beside the request: without a filter, its run is looked up. */
  private async renewFilters(reader: IndexReader): Promise<void> {
    try {
      await this.filters.renew(reader);
    } catch (error) {
      this.database.log.debug({ err: error }, 'filters of the ct index cannot be read');
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.pools.values()].map(async (pool) => await pool.end()));
    this.pools.clear();
  }

  private openPool(timeLimitMs: number): IndexPool {
    const { url, pooler, poolSize, log } = this.database;
    return new IndexPool(this.isSharded, poolSize, timeLimitMs, (isSharded) => {
      const pool = new DatabasePool({
        url,
        pooler,
        application_name: 'ct-search',
        max: poolSize,
        connectionTimeoutMillis: Math.max(connectTimeoutMs.min, Math.min(connectTimeoutMs.max, timeLimitMs)),
        idleTimeoutMillis: idleTimeoutMs,
        keepAlive: true,
        session: { ...(isSharded ? pageSession : preparedPageSession), statement_timeout: timeLimitMs },
      });
      pool.on('error', (error) => log.warn({ err: error }, 'connection to the ct database lost'));
      return pool;
    });
  }

  /** A connection of its own: the settings of the others depend on the result. */
  private async query<T>(text: string): Promise<T> {
    const { url, pooler } = this.database;
    const pool = new DatabasePool({
      url,
      pooler,
      application_name: 'ct-search',
      max: 1,
      connectionTimeoutMillis: connectTimeoutMs.min,
      query_timeout: connectTimeoutMs.min,
    });
    try {
      return (await pool.query(text)).rows as T;
    } catch (error) {
      throw databaseProblem(error) ?? error;
    } finally {
      await pool.end();
    }
  }
}
