import { pageSession } from '@certwright/ct-index';
import { usedCtSchema } from '@certwright/ct-schema';
import { DatabasePool, schemaCheck } from '@certwright/postgres';
import { RunningProcess } from '@certwright/service';
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

/** Statements over the ct database. */
export interface CtReader {
  query<T>(text: string, values?: unknown[]): Promise<T>;
}

/** The ct database, with the index of public certificates. It is only read, and may be down. */
@Injectable()
export class CtDatabase {
  private restsUntilMs = -Infinity;

  constructor(
    private readonly pool: Pick<DatabasePool, 'readOnce'>,
    private readonly log: { warn(members: object, message: string): void },
    private readonly withinMs = maxReadMs,
  ) {}

  /** @returns null while the database is down or slow */
  async read<T>(work: (reader: CtReader) => Promise<T>): Promise<T | null> {
    if (performance.now() < this.restsUntilMs) return null;
    const time = new AbortController();
    const timer = setTimeout(
      () => time.abort(new Error(`no result within ${this.withinMs} ms`)),
      this.withinMs,
    );
    try {
      return await this.within(time.signal, work);
    } catch (error) {
      if (performance.now() >= this.restsUntilMs) this.log.warn({ err: error }, 'ct database not read');
      this.restsUntilMs = performance.now() + restMs;
      return null;
    } finally {
      clearTimeout(timer);
    }
  }

  private async within<T>(time: AbortSignal, work: (reader: CtReader) => Promise<T>): Promise<T> {
    const over = new Promise<never>((_, reject) => {
      time.addEventListener('abort', () => reject(time.reason as Error), { once: true });
    });
    return await Promise.race([work(this.readerWithin(time)), over]);
  }

  /** The server ends the statement that is running; no other one follows. */
  private readerWithin(time: AbortSignal): CtReader {
    return {
      query: async <T>(text: string, values: unknown[] = []) => {
        time.throwIfAborted();
        return (await this.pool.readOnce(() => ({ text, values }))).rows as T;
      },
    };
  }
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
