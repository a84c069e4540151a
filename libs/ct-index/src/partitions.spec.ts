import { eventually } from '@certwright/testing';
import type { QueryRunner } from 'typeorm';
import { anIssuance, CtDatabaseFixture } from '@certwright/ct-testing';
import { citusUrl } from '@certwright/testing';
import { dropExpired, ensurePartitions } from './partitions';
import { mergeIn, mergeRuns } from './runs/merge-runs';
import { shrinkExpired } from './shrink-partitions';
import { IssuerIds, storeIssuances } from './store-issuances';

jest.setTimeout(60_000);

const positionsPerPartition = 20;
const dayMs = 86_400_000;
const expired = new Date(Date.now() - 3 * dayMs);

let ct: CtDatabaseFixture;
const ids = new IssuerIds();
beforeAll(async () => {
  ct = await CtDatabaseFixture.open(positionsPerPartition, 60);
  await ids.ensure(ct.database.manager, [anIssuance('example.com').issuer]);
});
afterAll(async () => await ct.close());

const tables = async (): Promise<number> => {
  const [{ count }] = await ct.database.query<[{ count: number }]>(
    `SELECT count(*)::int AS count FROM pg_inherits WHERE inhparent IN ('ct_block'::regclass, 'ct_issuance'::regclass)`,
  );
  return count;
};

const store = async (runner: QueryRunner, notAfter: Date) =>
  await storeIssuances(runner.manager, ids, [anIssuance('example.com', { notAfter })], [null]);

async function transaction<T>(work: (runner: QueryRunner) => Promise<T>): Promise<T> {
  const runner = ct.database.createQueryRunner();
  await runner.startTransaction();
  try {
    return await work(runner);
  } finally {
    await runner.commitTransaction();
    await runner.release();
  }
}

it('partitions are created during a merge of minutes, and dropped after it', async () => {
  for (let nth = 0; nth < 25; nth += 1) await transaction(async (runner) => await store(runner, expired));
  const before = await tables();
  // A clock that is a week behind: everything is kept.
  const weekAgo = new Date(Date.now() - 7 * dayMs);
  await transaction(async (merging) => {
    expect(await mergeIn(merging.manager, 'large', weekAgo)).toMatchObject({
      runs: 19,
    });
    const created = ensurePartitions(ct.database, new Date(), 80, positionsPerPartition);
    // On Citus, it waits for the end of the merge, for 3 s at a time.
    if (citusUrl() === undefined) await created;
    else await expect(created).rejects.toMatchObject({ code: '55P03' });
    expect(await tables()).toBe(before + (citusUrl() === undefined ? 4 : 0));
    expect(await dropExpired(ct.database, new Date())).toEqual([]);
  });
  expect(await dropExpired(ct.database, new Date())).toEqual(['ct_issuance_p20', 'ct_block_p20']);
  expect(await ct.database.query('SELECT FROM ct_run WHERE partition = 20')).toEqual([]);
  expect(await mergeRuns(ct.database, 'large', new Date())).toBeNull();
});

it('a partition is dropped after a writer that has locked issuances but not blocks, and neither fails', async () => {
  for (let nth = 0; nth < 20; nth += 1) await transaction(async (runner) => await store(runner, expired));
  const dropped = await transaction(async (writing) => {
    await writing.query('LOCK TABLE ct_issuance IN ROW EXCLUSIVE MODE');
    const dropping = dropExpired(ct.database, new Date());
    await eventually(async () =>
      expect(
        await ct.database.query(`SELECT FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'`),
      ).toHaveLength(1),
    );
    await writing.query('LOCK TABLE ct_block IN ROW EXCLUSIVE MODE');
    return { dropping };
  });
  expect(await dropped.dropping).toEqual(['ct_issuance_p40', 'ct_block_p40']);
});

it('a month gets its table also when certificates that expire in it were stored before, which stay known', async () => {
  const inMonths = (months: number) => new Date(Date.now() + months * 31 * dayMs);
  const issuances = [45, 46, 60].map((months) => anIssuance('example.com', { notAfter: inMonths(months) }));
  const stored = async () =>
    await transaction(async ({ manager }) =>
      storeIssuances(
        manager,
        ids,
        issuances,
        issuances.map(() => null),
      ),
    );
  expect(await stored()).toMatchObject({ discovered: 3 });
  await ensurePartitions(ct.database, inMonths(8), 80, positionsPerPartition);
  const [{ others }] = await ct.database.query<[{ others: number }]>(
    `SELECT count(*)::int AS others FROM ct_known_other`,
  );
  expect(others).toBe(1);
  expect(await stored()).toMatchObject({ discovered: 0 });
});

it('partitions are also created and dropped in the schema of the previous release, which has no functions for that', async () => {
  const old = await CtDatabaseFixture.open(positionsPerPartition, 20);
  await old.database.undoLastMigration({ transaction: 'each' });
  await old.database.query(`UPDATE ct_sequence SET next = 20`);
  await ensurePartitions(old.database, new Date(), 20, 20);
  const farFuture = new Date('2200-01-01');
  expect(await dropExpired(old.database, farFuture)).toEqual(
    expect.arrayContaining(['ct_issuance_p20', 'ct_block_p20']),
  );
  await ensurePartitions(old.database, farFuture, 20, 20);
  const [{ known }] = await old.database.query<[{ known: string | null }]>(
    `SELECT to_regclass('ct_known_220001')::text AS known`,
  );
  expect(known).toBe('ct_known_220001');
  await old.close();
});

it('several processes drop and shrink partitions at the same time', async () => {
  const many = await CtDatabaseFixture.open(10, 300);
  await many.database.query(`UPDATE ct_sequence SET next = 300`);
  const rounds = Array.from({ length: 4 }, async () => [
    ...(await shrinkExpired(many.database, new Date(), 0)),
    ...(await dropExpired(many.database, new Date())),
  ]);
  const dropped = (await Promise.all(rounds)).flat();
  expect(dropped).toHaveLength(60);
  expect(new Set(dropped).size).toBe(60);
  await many.close();
});
