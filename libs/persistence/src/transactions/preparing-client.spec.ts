import { coreDataSource } from '../core-data-source';
import { CoreDatabaseFixture } from '../testing/core-database';
import { databaseOutage } from '@certwright/errors';

let core: CoreDatabaseFixture;
beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
});
afterAll(async () => await core.close());

describe('a statement with parameters', () => {
  it('is prepared once per connection, however often it runs', async () => {
    const counts = await core.transactions.run(async (tx) => {
      const run = async (value: number) =>
        await tx.query<{ sum: number }[]>('SELECT $1::int + 1 AS sum', [value]);
      const sums = [await run(1), await run(2)].map(([row]) => row?.sum);
      const prepared = await tx.query<{ count: number }[]>(
        `SELECT count(*)::int AS count FROM pg_prepared_statements WHERE statement = 'SELECT $1::int + 1 AS sum'`,
      );
      return { sums, prepared: prepared[0]?.count };
    });
    expect(counts).toEqual({ sums: [2, 3], prepared: 1 });
  });

  it('can be used again after it failed', async () => {
    const divide = async (by: number) =>
      await core.database.query<{ quotient: number }[]>('SELECT 6 / $1::int AS quotient', [by]);
    await expect(divide(0)).rejects.toThrow('division by zero');
    expect(await divide(2)).toEqual([{ quotient: 3 }]);
  });
});

describe('a server that does not answer any more', () => {
  it('costs the statement, and not the connection’s place in the pool', async () => {
    const url = core.url;
    const database = coreDataSource({ url, applicationName: 'spec', poolSize: 1, statementTimeoutMs: 400 });
    await database.initialize();
    const [{ pid }] = await database.query<[{ pid: number }]>('SELECT pg_backend_pid() AS pid');
    process.kill(pid, 'SIGSTOP');
    try {
      const answer: unknown = await database
        .query('SELECT $1::int AS one', [1])
        .catch((error: unknown) => error);
      expect(databaseOutage(answer)).toMatchObject({ code: 'service_outage' });
      expect(await database.query('SELECT $1::int AS one', [1])).toEqual([{ one: 1 }]);
    } finally {
      process.kill(pid, 'SIGCONT');
      await database.destroy();
    }
  });
});
