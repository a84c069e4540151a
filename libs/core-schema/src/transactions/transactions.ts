import { Injectable, Optional } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { OutboxWrites } from '../outbox/outbox-writes';
import { isSerializationFailure } from './database-error';
import { withTraceparent } from './traceparent';

/** The handle of an open transaction; a function that takes one is part of the transaction. */
export type Tx = EntityManager;

/** Maximum repetitions of a transaction after a conflict with another one. */
const maxAttempts = 4;

@Injectable()
export class Transactions {
  constructor(
    private readonly database: DataSource,
    @Optional() private readonly outboxWrites?: OutboxWrites,
  ) {}

  /**
   * Runs `work` in one transaction (read committed). On a serialization failure or deadlock (40001, 40P01) the whole
   * of `work` runs again, so its only effects must be through `tx`.
   */
  async run<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const traced = withTraceparent(work);
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.commit(traced);
      } catch (error) {
        if (attempt >= maxAttempts || !isSerializationFailure(error)) throw error;
      }
    }
  }

  private async commit<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    let used: Tx | undefined;
    const result = await this.database.transaction(async (tx) => await work((used = tx)));
    if (used !== undefined) this.outboxWrites?.committed(used);
    return result;
  }
}
