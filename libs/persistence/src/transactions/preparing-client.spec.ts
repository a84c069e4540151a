import { CoreDatabaseFixture } from '../testing/core-database';

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
