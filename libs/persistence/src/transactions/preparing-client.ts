import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { DatabaseClient, databaseDriver, DatabasePool } from '@certwright/postgres';
import type * as pg from 'pg';

type Callback = (error: Error, result: pg.QueryResult) => void;

/**
 * Prepares every statement that has parameters, once per connection: PostgreSQL then neither parses nor plans it again,
 * which for our short statements is most of their cost. The texts are constants of the code, so their number is bounded.
 */
class PreparingClient extends DatabaseClient {
  /** Without an answer for so long, ms, the server is gone, whatever TCP still believes. */
  private readonly patienceMs: number;
  private patience: NodeJS.Timeout | undefined;

  constructor(config: pg.ClientConfig = {}) {
    super(config);
    this.patienceMs = patienceFor(config.statement_timeout);
    // Every statement that was sent has been answered.
    this.on('drain', () => this.endPatience());
    this.on('end', () => this.endPatience());
  }

  // pg declares a dozen overloads; TypeORM calls the one with text and values.
  override query(...args: unknown[]): never {
    this.patience ??= setTimeout(() => this.giveUp(), this.patienceMs).unref();
    const [text, values, callback] = args;
    const plain = super.query.bind(this) as (...args: unknown[]) => never;
    if (typeof text !== 'string' || !Array.isArray(values) || values.length === 0) return plain(...args);
    const config = { name: nameOf(text), text, values };
    return callback === undefined ? plain(config) : plain(config, callback as Callback);
  }

  /**
   * A server that froze, or a fail-over that nobody told us of, leaves connections on which nothing ever comes back. With its
   * stream cut, the statement fails, and the pool opens another connection in its place; otherwise it would be lost for good.
   */
  private giveUp(): void {
    const { connection } = this as unknown as { connection: { stream: Socket } };
    const error = new Error(`Connection terminated: no answer in ${this.patienceMs} ms`);
    connection.stream.destroy(Object.assign(error, { code: 'ETIMEDOUT' }));
  }

  private endPatience(): void {
    clearTimeout(this.patience);
    this.patience = undefined;
  }
}

/** The server itself ends a statement at its timeout, and says so; what takes half as long again is not coming. */
function patienceFor(statementTimeout: number | false | undefined): number {
  const withoutTimeoutMs = 60 * 60 * 1_000;
  return 1.5 * (statementTimeout || withoutTimeoutMs);
}

const names = new Map<string, string>();

/** A statement's name is a digest of its text: the same in every connection, and never two texts under one name. */
function nameOf(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = createHash('sha256').update(text).digest('base64url').slice(0, 32);
  names.set(text, name);
  return name;
}

class PreparingPool extends DatabasePool {
  constructor(config: pg.PoolConfig) {
    super(config, PreparingClient);
  }
}

/** What TypeORM takes for the package `pg`. */
export const preparingDriver = { ...databaseDriver, Client: PreparingClient, Pool: PreparingPool };
