import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { isSerializationFailure } from './database-error';

/** The handle of an open transaction; whoever takes one takes part in it. */
export type Tx = EntityManager;

/** How often a transaction that lost against another one is run again. */
const mostTries = 4;

@Injectable()
export class Transactions {
  constructor(private readonly database: DataSource) {}

  /**
   * Runs `work` in one transaction (read committed). When PostgreSQL asks for a repetition (40001, 40P01) the whole of
   * `work` runs again, so it must have no effect but through `tx`.
   */
  async run<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.database.transaction(work);
      } catch (error) {
        if (attempt >= mostTries || !isSerializationFailure(error)) throw error;
      }
    }
  }
}
