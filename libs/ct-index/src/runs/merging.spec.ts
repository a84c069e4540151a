import type { EntityManager } from 'typeorm';
import { anIssuance, CtDatabaseFixture } from '@certwright/ct-testing';
import { eventually } from '@certwright/testing';
import { pageOfKeys } from '../issuance-pages';
import { type Lookup, type PageReader, readingAlone } from '../page-reader';
import type { NewIssuance } from '../new-issuance';
import { ensurePartitions } from '../partitions';
import { IssuerIds, storeIssuances } from '../store-issuances';
import { mergeIn, mergeRuns } from './merge-runs';

jest.setTimeout(300_000);

const positionsPerPartition = 700;
const dayMs = 86_400_000;

let ct: CtDatabaseFixture;
/** Shared by all readers: caches of one state of the runs are tested on others. */
let readers: readonly PageReader[];
const ids = new IssuerIds();
beforeAll(async () => {
  ct = await CtDatabaseFixture.open(positionsPerPartition, 6_000);
  await ids.ensure(ct.database.manager, [anIssuance('example.com').issuer]);
});
afterAll(async () => await ct.close());
beforeEach(async () => {
  readers = [
    readingAlone(ct.database.manager),
    readingAlone(ct.database.manager, async () => await Promise.resolve(true)),
  ];
  await ct.database.query('TRUNCATE ct_issuance, ct_known, ct_run, ct_block');
  await ct.database.query('UPDATE ct_sequence SET next = 1');
});

const store = async (issuances: readonly NewIssuance[]) => {
  const crls = issuances.map(() => null);
  return await ct.database.transaction(async (tx) => await storeIssuances(tx, ids, issuances, crls));
};

/** Numbers from 0 up, the same ones in each run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Keys of the oracle: a few with nearly all postings, many with few; some differ only in the last byte. */
const keys = Array.from({ length: 60 }, (_, nth) =>
  nth % 3 === 0
    ? Buffer.from([255, 255, 255, 255, 255, nth, 0, 0])
    : Buffer.from([nth * 5, 7, nth, 1, 0, nth, 9, 9]),
);
const frequent = 3;
const hex = (those: readonly Buffer[]) => those.map((key) => key.toString('hex'));

/** The expected result from plain rows. */
class PlainRows {
  readonly rows: {
    readonly position: number;
    readonly keys: ReadonlySet<Buffer>;
    readonly notAfter: number;
  }[] = [];

  page(wanted: readonly Buffer[], after: number, limit: number): string[] {
    return this.rows
      .filter(({ position, notAfter }) => position > after && notAfter >= Date.now())
      .filter((row) => wanted.some((key) => row.keys.has(key)))
      .slice(0, limit)
      .map(({ position }) => String(position));
  }
}

/** Commits of random sizes across partitions; some postings expire days from now. */
async function randomCommits(
  random: (below: number) => number,
  commits: number,
  most: number,
  oracle: PlainRows,
) {
  for (let commit = 0; commit < commits; commit += 1) {
    const batch = Array.from({ length: 1 + random(most) }, () => {
      const of = new Set<Buffer>();
      for (let nth = 0; nth < random(9); nth += 1) {
        const key = keys[random(random(2) === 0 ? frequent : keys.length)];
        if (key !== undefined) of.add(key);
      }
      const notAfter = new Date(Date.now() + (random(5) === 0 ? -1 - random(100) : 1 + random(400)) * dayMs);
      return { issuance: anIssuance('example.com', { nameKeys: hex([...of]), notAfter }), of };
    });
    const [{ next }] = await ct.database.query('SELECT next FROM ct_sequence');
    await store(batch.map(({ issuance }) => issuance));
    batch.forEach(({ issuance, of }, nth) => {
      const position = Number(next) + nth;
      oracle.rows.push({ position, keys: of, notAfter: issuance.notAfter.getTime() });
    });
  }
}

/** Compares pages at random cursors, with one key or several, with the oracle. */
async function expectSamePages(random: (below: number) => number, oracle: PlainRows, pages: number) {
  const last = oracle.rows.at(-1)?.position ?? 0;
  for (let nth = 0; nth < pages; nth += 1) {
    const wanted = Array.from(
      { length: 1 + random(3) },
      () => keys[random(random(2) === 0 ? frequent : keys.length)],
    );
    const of = wanted.filter((key) => key !== undefined);
    const first = oracle.rows[0]?.position ?? 0;
    const after = random(4) === 0 ? 0 : first + random(last + 2 - first);
    const limit = 1 + random(random(2) === 0 ? 5 : 1_200);
    const reader = readers[nth % readers.length] ?? readingAlone(ct.database.manager);
    if (random(3) === 0) await reader.filters.renew(ct.database.manager);
    const { issuances: page } = await pageOfKeys(reader, of, { after: String(after), limit });
    expect(page.map(({ position }) => position)).toEqual(oracle.page(of, after, limit));
  }
}

const mergeAll = async () => {
  let merges = 0;
  for (const lane of ['small', 'large'] as const)
    while ((await mergeRuns(ct.database, lane, new Date())) !== null) merges += 1;
  return merges;
};

const runs = async (): Promise<{ level: number; home: string; partition: string }[]> =>
  await ct.database.query('SELECT level, home, partition FROM ct_run ORDER BY to_position');

describe('blocks of postings', () => {
  it('return the same as plain rows, merged or not, at every cursor', async () => {
    const random = numbers(42);
    const oracle = new PlainRows();
    await randomCommits(random, 30, 12, oracle);
    await randomCommits(random, 6, 900, oracle);
    await randomCommits(random, 20, 12, oracle);
    await expectSamePages(random, oracle, 20);
    expect(await mergeAll()).toBeGreaterThan(1);
    await expectSamePages(random, oracle, 30);
    await randomCommits(random, 12, 60, oracle);
    await expectSamePages(random, oracle, 20);
  });

  it.each([1, 2])('are found although no block begins near the key (runs: 1 of %d)', async (oneIn) => {
    const random = numbers(43);
    const oracle = new PlainRows();
    await randomCommits(random, 20, 200, oracle);
    await mergeAll();
    await randomCommits(random, 5, 200, oracle);
    // Blocks of so many postings would be nearer to each other than these are.
    await ct.database.query('UPDATE ct_run SET postings = postings + $1 WHERE id % $2 = 0', [2 ** 50, oneIn]);
    await expectSamePages(random, oracle, 40);
  });

  it('are all found although a merge becomes visible between the lookups of two keys, as with several servers', async () => {
    const two = keys.filter((_, nth) => nth % 3 !== 0).slice(0, 2);
    const storeWith = async (of: readonly Buffer[]) =>
      await store(of.map((key) => anIssuance('example.com', { nameKeys: hex([key]) })));
    await storeWith(Array.from({ length: 10 }, () => two).flat());
    for (let run = 0; run < 3; run += 1) await storeWith(two);
    const alone = readingAlone(ct.database.manager, () => true);
    let isFirstRead: Promise<unknown> | undefined;
    const reader: PageReader = {
      ...alone,
      look: async <Input, Result>(lookup: Lookup<Input, Result>, inputs: readonly Input[]) => {
        if (isFirstRead === undefined) return await (isFirstRead = lookup.of(alone, inputs));
        await isFirstRead;
        await mergeAll();
        return await lookup.of(alone, inputs);
      },
    };
    const seen: string[] = [];
    for (let after = '0'; ;) {
      const { issuances: page } = await pageOfKeys(reader, two, { after, limit: 5 });
      seen.push(...page.map(({ position }) => position));
      const last = page.at(-1);
      if (last === undefined) break;
      after = last.position;
    }
    expect(seen).toEqual(Array.from({ length: 26 }, (_, nth) => String(nth + 1)));
  });

  it('are one run in a separate table once their partition is full, and few before', async () => {
    for (let commit = 0; commit < 80; commit += 1)
      await store(Array.from({ length: 25 }, () => anIssuance('example.com')));
    await mergeAll();
    const all = await runs();
    expect(all.filter(({ partition }) => partition === '700')).toEqual([
      { level: 9, home: '700', partition: '700' },
    ]);
    expect(all.length).toBeLessThanOrEqual(16);
    const [{ young }] = await ct.database.query(
      `SELECT count(DISTINCT run)::int AS young FROM ct_block_young`,
    );
    expect(young).toBe(all.length - 2);
  });
});

describe('a key with many blocks', () => {
  beforeAll(async () => await ensurePartitions(ct.database, new Date(), 20_000, 20_000));

  it('has the same pages at every cursor, also after thousands of expired postings', async () => {
    const random = numbers(3);
    const oracle = new PlainRows();
    const [{ last }] = await ct.database.query('SELECT max(end_position) - 20000 AS last FROM ct_partition');
    let position = Number(last);
    await ct.database.query('UPDATE ct_sequence SET next = $1', [last]);
    for (let commit = 0; commit < 9; commit += 1) {
      const notAfter = new Date(Date.now() + (commit > 1 && commit < 7 ? -3 : 30) * dayMs);
      const of = keys.slice(0, 1 + (commit % 2));
      const batch = Array.from({ length: 1_000 }, () => {
        // Some have expired today, which only their rows show.
        const ends = random(3) === 0 ? Date.now() - 1_000 : notAfter.getTime() + random(3) * dayMs;
        return anIssuance('example.com', { nameKeys: hex(of), notAfter: new Date(ends) });
      });
      await store(batch);
      for (const each of batch)
        oracle.rows.push({ position: position++, keys: new Set(of), notAfter: each.notAfter.getTime() });
    }
    await expectSamePages(random, oracle, 6);
    // A clock that is a week behind: nothing has expired yet, and everything is kept.
    await mergeRuns(ct.database, 'small', new Date(Date.now() - 7 * dayMs));
    expect(await runs()).toMatchObject([{ level: 1 }]);
    const [{ postings }] = await ct.database.query('SELECT postings::int FROM ct_run');
    expect(postings).toBe(9_000 + 4_000);
    await expectSamePages(random, oracle, 12);
  });
});

describe('commits without a merger', () => {
  const commit = async () => await store([anIssuance('example.com')]);

  it('merge excess runs themselves', async () => {
    for (let nth = 0; nth < 140; nth += 1) await commit();
    expect((await runs()).map(({ level }) => level).filter((level) => level > 0)).toEqual([3, 3]);
    expect((await runs()).length).toBeLessThan(20);
  });

  it('have pages over more runs than one statement reads, while another merger hangs', async () => {
    const other = ct.database.createQueryRunner();
    await other.startTransaction();
    await other.query('SELECT pg_advisory_xact_lock(7308604102)');
    await other.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    const random = numbers(11);
    const oracle = new PlainRows();
    await randomCommits(random, 150, 3, oracle);
    expect((await runs()).length).toBeGreaterThan(100);
    await expectSamePages(random, oracle, 20);
    await other.rollbackTransaction();
    await other.release();
  });

  it('are stored even if that fails', async () => {
    for (let nth = 0; nth < 60; nth += 1) await commit();
    await ct.database.query(
      `UPDATE ct_block SET postings = '\\xff' WHERE run = (SELECT min(run) FROM ct_block)`,
    );
    for (let nth = 0; nth < 20; nth += 1) expect(await commit()).toEqual({ discovered: 1, completed: 0 });
    expect(await runs()).toHaveLength(80);
    await expect(mergeRuns(ct.database, 'small', new Date())).rejects.toThrow('outside buffer bounds');
  });
});

it('the merge of a full partition leaves its runs to a merge of the other lane that has begun before', async () => {
  const random = numbers(11);
  const oracle = new PlainRows();
  await randomCommits(random, 8, 20, oracle);
  const runner = ct.database.createQueryRunner();
  await runner.startTransaction();
  expect(await mergeIn(runner.manager, 'small', new Date())).not.toBeNull();
  await randomCommits(random, 20, 200, oracle);
  const settling = mergeRuns(ct.database, 'large', new Date());
  await eventually(async () =>
    expect(
      await ct.database.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      ),
    ).toHaveLength(1),
  );
  await runner.commitTransaction();
  await runner.release();
  expect(await settling).toBeNull();
  expect(await mergeRuns(ct.database, 'large', new Date())).not.toBeNull();
  await expectSamePages(random, oracle, 20);
});

describe('a merger that ends at any statement', () => {
  it('has changed nothing, or everything', async () => {
    const random = numbers(7);
    const oracle = new PlainRows();
    await randomCommits(random, 20, 40, oracle);
    const before = await runs();
    let statements = 0;
    for (let deadly = 1; ; deadly += 1) {
      const runner = ct.database.createQueryRunner();
      await runner.startTransaction();
      statements = 0;
      const mortal = <T extends unknown[], R>(work: (...given: T) => Promise<R>) => {
        return async (...given: T) => {
          statements += 1;
          if (statements === deadly) throw new Error('the process has ended');
          return await work(...given);
        };
      };
      // Blocks are copied by way of the connection.
      const tx = {
        query: mortal(async (...given: [string, unknown[]]) => await runner.query(...given)),
        queryRunner: { connect: mortal(async () => await runner.connect()) },
      } as unknown as EntityManager;
      const outcome = await mergeIn(tx, 'small', new Date()).then(
        () => 'merged',
        () => 'ended',
      );
      await (outcome === 'merged' ? runner.commitTransaction() : runner.rollbackTransaction());
      await runner.release();
      if (outcome === 'merged') break;
      expect(await runs()).toEqual(before);
      await expectSamePages(random, oracle, 2);
    }
    expect(statements).toBeGreaterThan(6);
    expect((await runs()).length).toBeLessThan(before.length);
    await expectSamePages(random, oracle, 20);
  });
});
