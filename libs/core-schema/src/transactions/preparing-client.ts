import type { EventEmitter } from 'node:events';
import { connect, type Socket } from 'node:net';
import {
  DatabaseClient,
  type DatabaseClientConfig,
  databaseDriver,
  DatabasePool,
  statementName,
} from '@certwright/postgres';
import { startDatabaseWork } from '@certwright/tracing';
import type * as pg from 'pg';
import { currentDatabaseTime, type DatabaseTime } from './database-time';
import { StatementGroups, startTransaction } from './statement-groups';

/** SQLSTATE of a plain warning, such as the one about a commit that stopped waiting for a replica. */
const warning = '01000';
const queryCanceled = '57014';

type Callback = (error: unknown, result?: pg.QueryResult) => void;

/** What the connections of a pool know about its commits. */
interface Commits {
  /** One was given up, so its backend may wait for a synchronous replica: for as long as there is none. */
  mayWait: boolean;
}

/** Longer than a commit waits for a replica that responds. */
const waitingCommits = `SELECT 1 FROM pg_stat_activity
  WHERE usename = current_user AND wait_event = 'SyncRep' AND query_start < clock_timestamp() - interval '1 second' LIMIT 1`;

/** A responsive server ends a canceled statement within this time, ms; a frozen one does not. */
const cancelWithinMs = 500;

/**
 * Prepares every statement that has parameters, once per connection: PostgreSQL then neither parses nor plans it
 * again, which for our short statements is the main cost. The texts are constants of the code, so their number is
 * bounded.
 *
 * Without a pooler, those of a transaction that are sent in one turn of the event loop, with its start, are a group.
 */
class PreparingClient extends DatabaseClient {
  private readonly groups: StatementGroups | undefined;
  /** A transaction was started, and nothing of it was sent yet. */
  private isToStart = false;
  /** The start was sent alone; statements wait for it: in their order, and so that none runs without a transaction. */
  private starting: Promise<unknown> | undefined;
  /** Without a response for this long, ms, the server counts as lost, regardless of TCP. */
  private readonly patienceMs: number;
  private patience: NodeJS.Timeout | undefined;
  private isCorked = false;
  private isCommitting = false;
  /** A cancel request of this request was sent, and is not known to have ended a statement. */
  private isCanceling = false;
  /** The server has processed it: it ends nothing that is sent later. Its effect on what runs may still be reported. */
  private isCancelProcessed = false;
  private endWait: () => void = () => undefined;
  /** Its pool's. */
  commits: Commits = { mayWait: false };

  constructor(config: DatabaseClientConfig = {}) {
    super({ ...config, pipeline: true });
    this.patienceMs = patienceFor(Number(config.session?.['statement_timeout'] ?? 0));
    if ((config.pooler ?? 'none') === 'none') this.groups = new StatementGroups(this);
    // Every statement that was sent has been answered.
    this.on('drain', () => this.endPatience());
    this.on('end', () => this.endPatience());
    this.on('notice', ({ code }: { readonly code?: string }) => {
      if (code === warning && this.isCanceling) this.loseCommit();
    });
    const { connection } = this as unknown as { readonly connection: EventEmitter };
    connection.on('errorMessage', ({ code }: { readonly code?: string }) => {
      if (code === queryCanceled) this.isCanceling = false;
    });
  }

  /** Before the connection is another request's. */
  endIfCancelMayCome(): void {
    if (this.isCanceling && !this.isCancelProcessed) void this.end().catch(() => undefined);
    this.isCanceling = false;
  }

  // pg declares a dozen overloads; TypeORM calls the one with text and values.
  override query(...args: unknown[]): never {
    if (this.starting !== undefined) return this.starting.then(() => this.query(...args)) as never;
    const [text, values, callback] = args as [unknown, unknown, Callback | undefined];
    if (text === startTransaction && callback === undefined && this.commits.mayWait)
      return this.startUnlessCommitsWait() as never;
    if (text === startTransaction && callback === undefined && this.groups !== undefined) {
      this.isToStart = true;
      return Promise.resolve({ command: 'START', rows: [] }) as never;
    }
    this.isCommitting = text === 'COMMIT';
    if (this.patience === undefined) this.beginPatience();
    this.cork();
    if (typeof text === 'string' && Array.isArray(values) && values.length > 0)
      return this.queryPrepared({ name: statementName(text), text, values }, callback);
    this.groups?.end();
    if (!this.isToStart) return this.send(...args);
    this.isToStart = false;
    this.starting = Promise.resolve<unknown>(this.send(startTransaction)).finally(
      () => (this.starting = undefined),
    );
    return this.starting.then(() => this.query(...args)) as never;
  }

  /** Its commit would be given up, too, and its connection stay with the server: until the replica is back. */
  private async startUnlessCommitsWait(): Promise<unknown> {
    const { rows } = await (this.query(waitingCommits) as Promise<pg.QueryResult>);
    if (rows.length > 0)
      throw Object.assign(new Error('Commits wait for a synchronous replica'), { code: 'ETIMEDOUT' });
    this.commits.mayWait = false;
    return await (this.query(startTransaction) as Promise<unknown>);
  }

  private queryPrepared(config: pg.QueryConfig, callback?: Callback): never {
    const send = () => (callback === undefined ? this.send(config) : this.send(config, callback));
    if (this.groups === undefined) return send();
    if (this.isToStart) {
      this.isToStart = false;
      const start = { name: statementName(startTransaction), text: startTransaction, values: [] };
      // If it fails, so do the statements after it.
      this.groups.add(() => this.send(start, () => undefined), true);
    }
    return this.groups.add(send);
  }

  private send(...args: unknown[]): never {
    return (super.query as (...args: unknown[]) => never)(...args);
  }

  /** Statements of the same turn of the event loop are sent in one piece. */
  private cork(): void {
    if (this.isCorked) return;
    this.isCorked = true;
    const { stream } = (this as unknown as { connection: { stream: Socket } }).connection;
    stream.cork();
    process.nextTick(() => {
      this.isCorked = false;
      this.groups?.end();
      stream.uncork();
    });
  }

  private beginPatience(): void {
    const time = currentDatabaseTime();
    const leftMs = time?.leftMs ?? Infinity;
    const endWait = time?.wait();
    const endWork = startDatabaseWork();
    this.endWait = () => {
      endWait?.();
      endWork();
    };
    this.patience =
      leftMs < this.patienceMs
        ? setTimeout(() => this.cancel(leftMs), leftMs).unref()
        : setTimeout(() => this.giveUp(this.patienceMs), this.patienceMs).unref();
  }

  /** The time of the request is over. A responsive server ends the statement, and the connection can be used again. */
  private cancel(afterMs: number): void {
    // It would only end the wait for a synchronous replica: the commit would count as done, and a fail-over could lose it.
    if (this.isCommitting) return this.giveUp(afterMs);
    this.isCanceling = true;
    this.isCancelProcessed = false;
    const { host, port, processID, secretKey } = this as unknown as Required<Cancelable>;
    sendCancelRequest({ host, port, processID, secretKey }, () => (this.isCancelProcessed = true));
    this.patience = setTimeout(() => this.giveUp(afterMs + cancelWithinMs), cancelWithinMs).unref();
  }

  /**
   * A frozen server, or a fail-over without notice, leaves connections that never respond. Destroying the stream
   * makes the statement fail, and the pool opens another connection; otherwise the connection would be lost
   * permanently.
   */
  private giveUp(afterMs: number): void {
    if (this.isCommitting) this.commits.mayWait = true;
    const { connection } = this as unknown as { connection: { stream: Socket } };
    const error = new Error(`Connection terminated: no response in ${Math.round(afterMs)} ms`);
    connection.stream.destroy(Object.assign(error, { code: 'ETIMEDOUT' }));
  }

  /** The cancel request ended the wait of a commit for a synchronous replica: whether it lasts is unknown. */
  private loseCommit(): void {
    const { connection } = this as unknown as { connection: EventEmitter & { stream: Socket } };
    const error = new Error('Connection terminated: a commit was not replicated in time');
    // At once: the result of the commit follows in the same piece.
    connection.emit('error', Object.assign(error, { code: 'ETIMEDOUT' }));
    connection.stream.destroy();
  }

  private endPatience(): void {
    clearTimeout(this.patience);
    this.patience = undefined;
    this.endWait();
    this.endWait = () => undefined;
  }
}

interface Cancelable {
  readonly host: string;
  readonly port: number;
  readonly processID: number;
  readonly secretKey: number;
}

/** The server closes the connection of a cancel request within this time, ms; a frozen one does not. */
const cancelClosesWithinMs = 30_000;

/**
 * PostgreSQL protocol 3.0, CancelRequest: on a separate connection, in the clear, and without a response. As in libpq, the
 * server closes it: PgBouncer drops a request whose client closes it first, and 1.18 may end with "bad client state".
 */
function sendCancelRequest({ host, port, processID, secretKey }: Cancelable, processed: () => void): void {
  const message = Buffer.alloc(16);
  [16, 80_877_102, processID, secretKey].forEach((value, index) => message.writeInt32BE(value, 4 * index));
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  socket.on('error', () => undefined);
  socket.once('end', processed);
  socket.setTimeout(cancelClosesWithinMs, () => socket.destroy());
  socket.unref();
  socket.resume();
  socket.write(message);
}

/** The server itself ends a statement at its timeout and reports it; after 1.5 times that, no result will come. */
function patienceFor(statementTimeout: number): number {
  const withoutTimeoutMs = 60 * 60 * 1_000;
  return 1.5 * (statementTimeout || withoutTimeoutMs);
}

type Connected = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  release?: (destroy?: boolean) => void,
) => void;

class PreparingPool extends DatabasePool {
  constructor(config: DatabaseClientConfig) {
    super(config, PreparingClient);
    const commits: Commits = { mayWait: false };
    this.on('connect', (client) => {
      if (client instanceof PreparingClient) client.commits = commits;
    });
    this.on('release', (_error, client) => {
      if (client instanceof PreparingClient) client.endIfCancelMayCome();
    });
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<pg.PoolClient> | undefined {
    if (callback === undefined) return super.connect();
    const time = currentDatabaseTime();
    if (time === null) super.connect(callback);
    else this.connectInTime(time, callback);
    return undefined;
  }

  /** Waits for a connection no longer than the request may; a late one goes back to the pool. */
  private connectInTime(time: DatabaseTime, callback: Connected): void {
    const endWait = time.wait();
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      endWait();
      callback(new Error('timeout exceeded when trying to connect'), undefined, () => undefined);
    }, time.leftMs);
    time.takePlace((giveBack) => {
      if (isLate) return giveBack();
      super.connect((error, client, release) => {
        if (client === undefined || isLate) giveBack();
        // pg-pool has its own time limit, and passes no function with an error.
        if (isLate) return release?.();
        clearTimeout(timer);
        endWait();
        callback(error, client, (destroy) => {
          giveBack();
          release(destroy);
        });
      });
    });
  }
}

/** The module that TypeORM uses as the package `pg`. */
export const preparingDriver = { ...databaseDriver, Client: PreparingClient, Pool: PreparingPool };
