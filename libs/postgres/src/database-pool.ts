import type { EventEmitter } from 'node:events';
import * as pg from 'pg';

/**
 * A connection whose loss never ends the process. `pg` emits `error` on a client when its connection is lost, and
 * pg-pool listens only while the client is idle: a client that is checked out and has no statement under way, or whose
 * statement is just failing, has no listener otherwise. The statement under way, or the next one, rejects.
 */
export class DatabaseClient extends pg.Client {
  private isOfStandby = false;

  constructor(config?: string | pg.ClientConfig) {
    super(config);
    this.on('error', () => undefined);
    const { connection } = this as unknown as { readonly connection: EventEmitter };
    connection.on('errorMessage', ({ code }: { readonly code?: string }) => {
      if (code === readOnlyTransaction) this.isOfStandby = true;
    });
  }

  /** After a fail-over, a connection to the old primary, which is a standby now, would refuse every write for good. */
  endIfOfStandby(): void {
    if (this.isOfStandby) void this.end().catch(() => undefined);
  }
}

/** read_only_sql_transaction (PostgreSQL, appendix A). */
const readOnlyTransaction = '25006';

/**
 * The only pool that applications use.
 *
 * @param Client the class of its connections
 */
export class DatabasePool extends pg.Pool {
  constructor(config: pg.PoolConfig, Client: typeof DatabaseClient = DatabaseClient) {
    super({ ...config, Client } as pg.PoolConfig);
    // An idle connection that is lost is replaced when one is needed.
    this.on('error', () => undefined);
    // Before the pool decides whether to keep the connection: it removes those that are ending.
    this.on('release', (_error, client) => {
      if (client instanceof DatabaseClient) client.endIfOfStandby();
    });
  }
}

/** The package `pg` for TypeORM's option `driver`. */
export const databaseDriver = { ...pg, Client: DatabaseClient, Pool: DatabasePool };
