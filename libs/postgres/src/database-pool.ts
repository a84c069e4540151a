import * as pg from 'pg';

/**
 * A connection whose loss never ends the process. `pg` emits `error` on a client when its connection is lost, and
 * pg-pool listens only while the client is idle: a client that is checked out and has no statement under way, or whose
 * statement is just failing, has no listener otherwise. The statement under way, or the next one, rejects.
 */
export class DatabaseClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    this.on('error', () => undefined);
  }
}

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
  }
}

/** The package `pg` for TypeORM's option `driver`. */
export const databaseDriver = { ...pg, Client: DatabaseClient, Pool: DatabasePool };
