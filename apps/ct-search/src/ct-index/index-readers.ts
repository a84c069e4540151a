import { createHash } from 'node:crypto';
import type { Logger } from '@certwright/service';
import { Pool } from 'pg';
import { columnReaders } from './column-readers';
import { databaseProblem, timeUp } from './database-problem';

export interface IndexDatabase {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string;
  /** Connections at most, for each time limit. */
  readonly poolSize: number;
  readonly log: Logger;
}

/** How long a request waits for a connection, ms. */
const connectTimeoutMs = 5_000;

/** How long a connection that nobody uses is kept, ms. */
const idleTimeoutMs = 30_000;

/**
 * A statement is sent with all that it needs, so that a plan made once serves every page; nothing is written, and times are in
 * the form that `columnReaders` expects.
 */
const sessionOptions =
  '-c TimeZone=UTC -c default_transaction_read_only=on -c plan_cache_mode=force_generic_plan';

/**
 * Statements of one request: together they take no longer than its time limit.
 */
export class IndexReader {
  private readonly endsAtMs: number;

  constructor(
    private readonly pool: Pool,
    timeLimitMs: number,
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    this.endsAtMs = nowMs() + timeLimitMs;
  }

  /**
   * @returns the rows
   * @throws Problem `timeout`, `service_outage`
   */
  async query<T = unknown>(text: string, values: unknown[] = []): Promise<T> {
    if (this.nowMs() >= this.endsAtMs) throw timeUp();
    try {
      const { rows } = await this.pool.query({ name: nameOf(text), text, values });
      return rows as T;
    } catch (error) {
      throw databaseProblem(error) ?? error;
    }
  }
}

/**
 * Connections to the ct database. The time limit of a plan is the statement timeout of a connection, so each limit has a pool
 * of its own: there are as many as plans differ in it, and one that nobody uses any more holds no connection.
 */
export class IndexReaders {
  private readonly pools = new Map<number, Pool>();

  constructor(private readonly database: IndexDatabase) {}

  /** @param timeLimitMs of the plan */
  within(timeLimitMs: number): IndexReader {
    let pool = this.pools.get(timeLimitMs);
    if (pool === undefined) {
      pool = this.openPool(timeLimitMs);
      this.pools.set(timeLimitMs, pool);
    }
    return new IndexReader(pool, timeLimitMs);
  }

  async close(): Promise<void> {
    await Promise.all([...this.pools.values()].map(async (pool) => await pool.end()));
    this.pools.clear();
  }

  private openPool(timeLimitMs: number): Pool {
    const { url, poolSize, log } = this.database;
    const pool = new Pool({
      connectionString: url,
      application_name: 'ct-search',
      max: poolSize,
      connectionTimeoutMillis: connectTimeoutMs,
      idleTimeoutMillis: idleTimeoutMs,
      keepAlive: true,
      statement_timeout: timeLimitMs,
      // The server ends a statement itself; what takes half as long again comes from a server that is gone.
      query_timeout: 1.5 * timeLimitMs,
      options: sessionOptions,
      types: columnReaders,
    });
    // Without a listener the loss of a connection that nobody uses would end the process.
    pool.on('error', (error) => log.warn({ err: error }, 'a connection to the ct database is lost'));
    return pool;
  }
}

const names = new Map<string, string>();

/** A statement's name is a digest of its text; the texts are constants of the code, so their number is bounded. */
function nameOf(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = createHash('sha256').update(text).digest('base64url').slice(0, 32);
  names.set(text, name);
  return name;
}
