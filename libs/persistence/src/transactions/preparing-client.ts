import { createHash } from 'node:crypto';
import * as pg from 'pg';

type Callback = (error: Error, result: pg.QueryResult) => void;

/**
 * Prepares every statement that has parameters, once per connection: PostgreSQL then neither parses nor plans it again,
 * which for our short statements is most of their cost. The texts are constants of the code, so their number is bounded.
 */
class PreparingClient extends pg.Client {
  // pg declares a dozen overloads; TypeORM calls the one with text and values.
  override query(...args: unknown[]): never {
    const [text, values, callback] = args;
    const plain = super.query.bind(this) as (...args: unknown[]) => never;
    if (typeof text !== 'string' || !Array.isArray(values) || values.length === 0) return plain(...args);
    const config = { name: nameOf(text), text, values };
    return callback === undefined ? plain(config) : plain(config, callback as Callback);
  }
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

class PreparingPool extends pg.Pool {
  constructor(config: pg.PoolConfig) {
    super({ ...config, Client: PreparingClient } as pg.PoolConfig);
  }
}

/** What TypeORM takes for the package `pg`. */
export const preparingDriver = { ...pg, Client: PreparingClient, Pool: PreparingPool };
