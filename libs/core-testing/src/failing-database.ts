import type { DataSource, EntityManager } from 'typeorm';

type Query = (...args: unknown[]) => Promise<unknown>;

/**
 * A database whose connection breaks at its n-th statement: before it is carried out, or after, so that its answer is
 * lost. COMMIT is a statement, and nothing comes after the break.
 */
export class FailingDatabase {
  struck = false;
  readonly source: DataSource;
  private seen = 0;

  constructor(
    private readonly real: DataSource,
    private readonly nth: number,
    private readonly when: 'before' | 'after',
  ) {
    const query = this.breaking(real.query.bind(real) as Query);
    const transaction = this.transaction.bind(this);
    // Reads of a repository are not counted.
    const getRepository = real.getRepository.bind(real);
    this.source = { query, transaction, getRepository, manager: { query } } as unknown as DataSource;
  }

  private async transaction<T>(work: (tx: EntityManager) => Promise<T>): Promise<T> {
    const runner = this.real.createQueryRunner();
    await runner.startTransaction();
    try {
      const query = this.breaking(runner.manager.query.bind(runner.manager) as Query);
      // COPY takes the connection.
      const connect = this.breaking(async () => (await runner.connect()) as unknown);
      const result = await work({ query, queryRunner: { connect } } as unknown as EntityManager);
      await this.breaking(async () => await runner.commitTransaction())();
      return result;
    } catch (error) {
      if (runner.isTransactionActive) await runner.rollbackTransaction();
      throw error;
    } finally {
      await runner.release();
    }
  }

  private breaking(statement: Query): Query {
    return async (...args) => {
      this.seen += 1;
      if (this.seen < this.nth) return await statement(...args);
      if (this.seen === this.nth && this.when === 'after') await statement(...args);
      this.struck = true;
      throw Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' });
    };
  }
}
