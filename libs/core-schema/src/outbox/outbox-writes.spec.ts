import { advanceIssuance } from '@certwright/jobs';
import { CoreDatabaseFixture } from '@certwright/core-testing';
import { Transactions } from '../transactions/transactions';
import { addJobsToOutbox, addToOutbox } from './outbox';
import { OutboxWrites } from './outbox-writes';

let core: CoreDatabaseFixture;
let transactions: Transactions;
/** Rows that another connection saw when the listener was called. */
let reported: Promise<number>[];
const job = advanceIssuance('1', 0);

beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  const writes = new OutboxWrites();
  const count = async () =>
    (await core.database.query<[{ rows: number }]>(`SELECT count(*)::int AS rows FROM outbox`))[0].rows;
  writes.onCommitted(() => void reported.push(count()));
  transactions = new Transactions(core.database, writes);
});
afterAll(async () => await core.close());
beforeEach(async () => {
  reported = [];
  await core.database.query('DELETE FROM outbox');
});

describe('a transaction that wrote to the outbox', () => {
  it('is reported once, after its commit', async () => {
    await transactions.run(async (tx) => {
      await addToOutbox(tx, job);
      await addJobsToOutbox(tx, [job, job]);
      expect(reported).toEqual([]);
    });
    expect(await Promise.all(reported)).toEqual([3]);
  });

  it('is reported when only its repetition is committed', async () => {
    let attempts = 0;
    await transactions.run(async (tx) => {
      await addToOutbox(tx, job);
      attempts += 1;
      if (attempts === 1) await tx.query(`DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$`);
    });
    expect(await Promise.all(reported)).toEqual([1]);
  });

  it('is not reported when it is rolled back, or wrote nothing', async () => {
    const failing = transactions.run(async (tx) => {
      await addToOutbox(tx, job);
      throw new Error('refused');
    });
    await expect(failing).rejects.toThrow('refused');
    await transactions.run(async (tx) => await addJobsToOutbox(tx, []));
    await transactions.run(async (tx) => await tx.query('SELECT 1'));
    expect(reported).toEqual([]);
  });
});
