import { testDatabase } from '@certwright/testing';
import type { DataSource } from 'typeorm';
import { coreDataSource } from '../core-data-source';
import { JointWork, together } from './joint-work';
import { Transactions, type Tx } from './transactions';

let database: DataSource;
let close: () => Promise<void>;

beforeAll(async () => {
  const test = await testDatabase();
  database = coreDataSource({
    url: test.url,
    applicationName: 'spec',
    poolSize: 5,
    statementTimeoutMs: 10_000,
  });
  await database.initialize();
  close = async () => {
    await database.destroy();
    await test.dispose();
  };
  await database.query(
    'CREATE TABLE stored (item int PRIMARY KEY, transaction text DEFAULT txid_current()::text)',
  );
});
afterAll(async () => await close());
beforeEach(async () => await database.query('TRUNCATE stored'));

async function store(tx: Pick<Tx, 'query'>, item: number): Promise<number> {
  await tx.query('INSERT INTO stored (item) VALUES ($1)', [item]);
  if (item < 0) throw new Error('negative');
  return item * 10;
}

const jointOver = (transactions: Pick<Transactions, 'run'>, inTransaction = store) => {
  const alone = async (item: number) =>
    await new Transactions(database).run(async (tx) => await store(tx, item));
  return new JointWork<number, number>(transactions, { alone, inTransaction });
};

const stored = async () =>
  await database.query<{ item: number; transaction: string }[]>('SELECT * FROM stored ORDER BY item');

const transactionsOf = async () => new Set((await stored()).map(({ transaction }) => transaction)).size;

const settled = async (joint: JointWork<number, number>, items: readonly number[]) =>
  (await Promise.allSettled(items.map(async (item) => await joint.run(item)))).map((each) =>
    each.status === 'fulfilled' ? each.value : (each.reason as Error).message,
  );

it('stores with one commit what begins at the same time, and each gets its result', async () => {
  expect(await settled(jointOver(new Transactions(database)), [1, 2, 3])).toEqual([10, 20, 30]);
  expect(await transactionsOf()).toBe(1);
});

it('runs one alone without waiting for others', async () => {
  const together = jest.fn();
  expect(await jointOver({ run: together }).run(1)).toBe(10);
  expect(together).not.toHaveBeenCalled();
});

it('stores together what comes while a transaction runs', async () => {
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const joint = jointOver(new Transactions(database), async (tx, item) => {
    begin();
    return await store(tx, item);
  });
  const first = [joint.run(1), joint.run(2)];
  await begun;
  const others = [joint.run(3), joint.run(4), joint.run(5)];
  expect(await Promise.all([...first, ...others])).toEqual([10, 20, 30, 40, 50]);
  expect(await transactionsOf()).toBe(2);
});

it('stores the others when one of them fails, and nothing of that one', async () => {
  expect(await settled(jointOver(new Transactions(database)), [1, -1, 2])).toEqual([10, 'negative', 20]);
  expect((await stored()).map(({ item }) => item)).toEqual([1, 2]);
});

it('stores the others when one of them conflicts with other transactions again and again', async () => {
  const conflict = `DO $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END $$`;
  const inTransaction = async (tx: Pick<Tx, 'query'>, item: number) => {
    if (item === 2) await tx.query(conflict);
    return await store(tx, item);
  };
  const transactions = new Transactions(database);
  const alone = async (item: number) => await transactions.run(async (tx) => await inTransaction(tx, item));
  const joint = new JointWork<number, number>(transactions, { alone, inTransaction });
  expect(await settled(joint, [1, 2, 3])).toEqual([10, 'conflict', 30]);
  expect((await stored()).map(({ item }) => item)).toEqual([1, 3]);
});

it('does not let one that waits for a lock hold up the others', async () => {
  const locking = database.createQueryRunner();
  await locking.startTransaction();
  await locking.query('INSERT INTO stored (item) VALUES (1)');
  const joint = jointOver(new Transactions(database));
  const locked = joint.run(1);
  expect(await joint.run(2)).toBe(20);
  expect(await settled(joint, [3, 4])).toEqual([30, 40]);
  await locking.rollbackTransaction();
  await locking.release();
  expect(await locked).toBe(10);
});

it.each(['before', 'after'] as const)(
  'repeats nothing when the connection fails %s the commit',
  async (when) => {
    const run = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
      const runner = database.createQueryRunner();
      await runner.startTransaction();
      await work(runner.manager);
      await (when === 'after' ? runner.commitTransaction() : runner.rollbackTransaction());
      await runner.release();
      throw Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' });
    };
    expect(await settled(jointOver({ run }), [1, 2])).toEqual(
      Array(2).fill('Connection terminated unexpectedly'),
    );
    expect(await stored()).toHaveLength(when === 'after' ? 2 : 0);
  },
);

describe('statements that are sent together', () => {
  const failing = `DO $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END $$`;

  it('fail with the error that made the others fail, so that their transaction runs again', async () => {
    let attempts = 0;
    const both = async (tx: Tx) => {
      attempts += 1;
      const twoStatements = async () => [await store(tx, 1), await store(tx, 2)];
      return await together([twoStatements(), attempts === 1 ? tx.query(failing) : null]);
    };
    expect(await new Transactions(database).run(both)).toEqual([[10, 20], null]);
    expect(attempts).toBe(2);
  });

  it('fail with that error also where the failed transaction left a statement unprepared', async () => {
    const both = async (tx: Tx) => {
      const failed = tx.query(failing).catch((error: unknown) => error);
      const prepare = async () => await tx.query('SELECT $1::int AS unprepared', [1]);
      const conflict = async () => {
        throw await failed;
      };
      return await together([prepare(), prepare(), conflict()]);
    };
    await expect(database.transaction(both)).rejects.toMatchObject({ code: '40001' });
  });
});
