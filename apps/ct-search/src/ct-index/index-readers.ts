import { createHash } from 'node:crypto';
import { type Lookup, type PageReader, pageSession, SettledHomes } from '@certwright/ct-index';
import { DatabasePool } from '@certwright/postgres';
import type { Logger } from '@certwright/service';
import type { QueryConfig } from 'pg';
import { databaseProblem, timeUp } from './database-problem';
import { type Ask, type BatchLimits, LookupBatches } from './lookup-batches';

export interface IndexDatabase {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string;
  /** Connections at most, for each time limit. */
  readonly poolSize: number;
  /** Its tables are spread over several servers. */
  readonly isSharded: boolean;
  readonly log: Logger;
}

/** How long a request waits for a connection, ms: as long as its time limit, within these bounds. */
const connectTimeoutMs = { least: 1_000, most: 5_000 } as const;

/** Of the connections, those that questions of one kind use at most. */
const shareOfBatches = 0.5;

/** How long a connection that nobody uses is kept, ms. */
const idleTimeoutMs = 30_000;

/** For whom something is read. */
export interface Asker {
  /** Different ones do not wait for each other's connections. */
  readonly kind: string;
  /** How long all statements of a request may take. */
  readonly timeLimitMs: number;
}

/** Connections with one statement timeout, and those who wait for them. */
class IndexPool {
  private readonly batches = new Map<unknown, unknown>();

  constructor(
    private readonly pool: Pick<DatabasePool, 'connect' | 'end'>,
    private readonly limits: BatchLimits,
  ) {}

  async look<Question, Answer>(
    lookup: Lookup<Question, Answer>,
    questions: readonly Question[],
    timeoutMs: () => number,
  ): Promise<readonly Answer[]> {
    return await this.batchesOf(lookup).look(questions, timeoutMs);
  }

  readonly ask: Ask = async (text, values, timeoutMs) => {
    const client = await this.pool.connect();
    const query_timeout = Math.ceil(timeoutMs());
    if (query_timeout <= 0) {
      client.release();
      throw timeUp();
    }
    try {
      const { rows } = await client.query({ name: nameOf(text), text, values, query_timeout } as QueryConfig);
      client.release();
      return rows;
    } catch (error) {
      client.release(true);
      throw error;
    }
  };

  async end(): Promise<void> {
    await this.pool.end();
  }

  /** Of each lookup there is one object. */
  private batchesOf<Question, Answer>(lookup: Lookup<Question, Answer>): LookupBatches<Question, Answer> {
    let batches = this.batches.get(lookup) as LookupBatches<Question, Answer> | undefined;
    if (batches === undefined) {
      batches = new LookupBatches(lookup, this.ask, this.limits);
      this.batches.set(lookup, batches);
    }
    return batches;
  }
}

/** Statements of one request: together, and with the wait for connections, they take no longer than its time limit. */
export class IndexReader implements PageReader {
  private readonly endsAtMs: number;
  /** The server itself ends a first statement in time; what takes half as long again comes from a server that is gone. */
  private graceMs: number;

  constructor(
    private readonly pool: Pick<IndexPool, 'ask' | 'look'>,
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
    return (await this.inTime(async (timeoutMs) => await this.pool.ask(text, values, timeoutMs))) as T;
  }

  /** Throws what `query` does. */
  async look<Question, Answer>(
    lookup: Lookup<Question, Answer>,
    questions: readonly Question[],
  ): Promise<readonly Answer[]> {
    return await this.inTime(async (timeoutMs) => await this.pool.look(lookup, questions, timeoutMs));
  }

  private async inTime<T>(read: (timeoutMs: () => number) => Promise<T>): Promise<T> {
    const { graceMs } = this;
    this.graceMs = 0;
    const leftMs = () => this.endsAtMs - this.nowMs();
    if (leftMs() <= 0) throw timeUp();
    try {
      return await read(() => (leftMs() > 0 ? leftMs() + graceMs : 0));
    } catch (error) {
      if (graceMs === 0 && leftMs() <= 0) throw timeUp();
      throw databaseProblem(error) ?? error;
    }
  }
}

/**
 * Connections to the ct database. The time limit of a plan is the statement timeout of a connection, so each limit has a pool
 * of its own, apart from those without a key: there are as many as plans differ in it, and one that nobody uses any more holds no
 * connection.
 */
export class IndexReaders {
  private readonly pools = new Map<string, IndexPool>();
  private readonly settled = new SettledHomes();

  constructor(private readonly database: IndexDatabase) {}

  within({ kind, timeLimitMs }: Asker): IndexReader {
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
    const { url, poolSize, isSharded, log } = this.database;
    const pool = new DatabasePool({
      connectionString: url,
      application_name: 'ct-search',
      max: poolSize,
      connectionTimeoutMillis: Math.max(connectTimeoutMs.least, Math.min(connectTimeoutMs.most, timeLimitMs)),
      idleTimeoutMillis: idleTimeoutMs,
      keepAlive: true,
      statement_timeout: timeLimitMs,
      options: pageSession,
    });
    pool.on('error', (error) => log.warn({ err: error }, 'a connection to the ct database is lost'));
    const mostUnderWay = Math.max(1, Math.floor(poolSize * shareOfBatches));
    return new IndexPool(pool, isSharded ? { mostUnderWay: poolSize, mostAtOnce: 1 } : { mostUnderWay });
  }
}

const names = new Map<string, string>();

/** A statement's name is a digest of its text; the texts are constants of the code, three of them for each partition. */
function nameOf(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = createHash('sha256').update(text).digest('base64url').slice(0, 32);
  names.set(text, name);
  return name;
}
