import { pageSession } from '@certwright/ct-index';
import { usedCtSchema } from '@certwright/ct-schema';
import { DatabasePool, schemaCheck } from '@certwright/postgres';
import { RunningProcess, Turns } from '@certwright/service';
import { Global, Injectable, Module } from '@nestjs/common';
import { MonitoringConfig } from '../config';

/** Wait for a connection, and max time of a statement, ms: the calls also work without the index. */
const timeLimitsMs = { connection: 500, statement: 2_000 } as const;

/** Max time of all statements of a response, ms: a database that is slow must not delay what does not need it. */
const maxReadMs = 1_000;

/** Idle timeout of a connection, ms. */
const idleTimeoutMs = 30_000;

/** After a failure the database is left alone for so long, ms: an outage delays one request and not each. */
const restMs = 1_000;

/** How long a read waits for the earlier ones of its account, ms. */
const maxWaitMs = 5_000;

/** Whose reads rest when the database did not respond. */
const everyone = '';

/** Statements over the ct database. */
export interface CtReader {
  query<T>(text: string, values?: unknown[]): Promise<T>;
}

/** The ct database, with the index of public certificates. It is only read, and may be down. */
@Injectable()
export class CtDatabase {
  /** By the account whose reads rest, or `everyone`. */
  private readonly restsUntilMs = new Map<string, number>();
  /** An account has one connection at a time, until its read has really ended. */
  private readonly turns = new Turns({ atOnce: Infinity, atOnceOfAccount: 1 });

  constructor(
    private readonly pool: Pick<DatabasePool, 'readOnce'>,
    private readonly log: { warn(members: object, message: string): void },
    private readonly withinMs = maxReadMs,
  ) {}

  /**
   * @param accountId for which it is read: when its data are too much, others are still read
   * @returns null while the database is down or slow
   */
  async read<T>(work: (reader: CtReader) => Promise<T>, accountId = everyone): Promise<T | null> {
    const endTurn = await this.turns.begin(accountId, maxWaitMs);
    if (endTurn === null) return null;
    if (this.rests(everyone) || this.rests(accountId)) {
      endTurn();
      return null;
    }
    const time = new AbortController();
    const timer = setTimeout(
      () => time.abort(new Error(`no result within ${this.withinMs} ms`)),
      this.withinMs,
    );
    const reader = this.readerWithin(time.signal);
    try {
      return await within(time.signal, work(reader).finally(endTurn));
    } catch (error) {
      const resting = reader.isSilent ? everyone : accountId;
      if (!this.rests(resting)) this.log.warn({ err: error }, 'ct database not read');
      this.rest(resting);
      return null;
    } finally {
      clearTimeout(timer);
    }
  }

  private rests(who: string): boolean {
    return performance.now() < (this.restsUntilMs.get(who) ?? 0);
  }

  private rest(who: string): void {
    for (const each of this.restsUntilMs.keys()) if (!this.rests(each)) this.restsUntilMs.delete(each);
    this.restsUntilMs.set(who, performance.now() + restMs);
  }

  /** The server ends the statement that is running; no other one follows. */
  private readerWithin(time: AbortSignal): CtReader & { readonly isSilent: boolean } {
    let hasResponded = false;
    const reader = {
      /** It did not respond to the first statement. */
      isSilent: false,
      query: async <T>(text: string, values: unknown[] = []) => {
        time.throwIfAborted();
        reader.isSilent = !hasResponded;
        const { rows } = await this.pool.readOnce(() => ({ text, values }));
        hasResponded = true;
        reader.isSilent = false;
        return rows as T;
      },
    };
    return reader;
  }
}

async function within<T>(time: AbortSignal, work: Promise<T>): Promise<T> {
  const over = new Promise<never>((_, reject) => {
    time.addEventListener('abort', () => reject(time.reason as Error), { once: true });
  });
  return await Promise.race([work, over]);
}

@Global()
@Module({
  providers: [
    {
      provide: CtDatabase,
      inject: [MonitoringConfig, RunningProcess],
      useFactory: (config: MonitoringConfig, { name, log, opened, readiness }: RunningProcess) => {
        const pool = new DatabasePool({
          url: config.CT_DATABASE_URL,
          pooler: config.DATABASE_POOLER,
          application_name: name,
          max: config.CT_DATABASE_POOL_SIZE,
          connectionTimeoutMillis: timeLimitsMs.connection,
          idleTimeoutMillis: idleTimeoutMs,
          keepAlive: true,
          session: { ...pageSession, statement_timeout: timeLimitsMs.statement },
          // A server that is unreachable does not end the statement itself.
          query_timeout: 1.5 * timeLimitsMs.statement,
        });
        opened('ct database', async () => await pool.end());
        const query = async (text: string) => (await pool.query<object>(text)).rows;
        readiness.add('ct schema', schemaCheck(query, usedCtSchema, name));
        return new CtDatabase(pool, log);
      },
    },
  ],
  exports: [CtDatabase],
})
export class CtDatabaseModule {}
