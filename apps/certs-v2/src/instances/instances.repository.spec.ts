import { PurchaseFixture } from '@certwright/core-testing';
import type { DataSource } from 'typeorm';
import { InstancesRepository } from './instances.repository';

const needs = { csr: 'pending', chain: false } as const;
const cn = 'www.example.com';

let fixture: PurchaseFixture;
let accountId: string;
let planId: string;
beforeAll(async () => {
  fixture = await PurchaseFixture.open();
  accountId = await fixture.account(100_000);
  planId = await fixture.plan(accountId, [cn]);
  for (let made = 0; made < 20; made += 1) await fixture.buy(planId, { kind: 'term' });
  await fixture.core.database.query(
    `INSERT INTO cert_object_v2 (plan_id, account_id, cn, type, approval_method, csr, spki_sha256, key_type)
     SELECT plan_id, $2, $3, 'dv', 'dns', csr, spki_sha256, 'ecdsa' FROM terms WHERE plan_id = $1 LIMIT 1`,
    [planId, accountId, cn],
  );
}, 60_000);
afterAll(async () => await fixture.core.close());

/** How often the charges were scanned meanwhile. */
const scansOfCharges = async (work: (instances: InstancesRepository) => Promise<void>) =>
  await statisticOf('charge', 'seq_scan + idx_scan', work);

/** By how much it grew meanwhile. */
async function statisticOf(
  table: string,
  columns: string,
  work: (instances: InstancesRepository) => Promise<void>,
): Promise<number> {
  const runner = fixture.core.database.createQueryRunner();
  try {
    await runner.startTransaction();
    // As with many rows.
    await runner.query('SET LOCAL enable_seqscan = off');
    // Includes what the connection did before, until PostgreSQL adds it to the statistics of all.
    const value = async () => {
      const [row] = (await runner.query(
        `SELECT (${columns})::int AS value FROM pg_stat_xact_user_tables WHERE relname = $1`,
        [table],
      )) as [{ value: number }];
      return row.value;
    };
    const before = await value();
    await work(new InstancesRepository(runner.manager as unknown as DataSource));
    const after = await value();
    await runner.rollbackTransaction();
    return after - before;
  } finally {
    await runner.release();
  }
}

const numbersOf = (running: readonly number[]) =>
  running.map((each) => `${accountId}-${String(each).padStart(4, '0')}`);

// An invoice is looked up with two scans.
describe('invoices are looked up only for', () => {
  it('the instances of a page', async () => {
    const scans = await scansOfCharges(async (instances) => {
      const page = await instances.page(planId, null, 3, needs);
      expect(page.map(({ attempt }) => attempt?.invoiceNumber)).toEqual(numbersOf([20, 19, 18]));
      const next = await instances.page(planId, page.at(-1)?.id ?? null, 2, needs);
      expect(next.map(({ attempt }) => attempt?.invoiceNumber)).toEqual(numbersOf([17, 16]));
    });
    expect(scans).toBe(2 * 5);
  });

  it('the newest of the instances with a key', async () => {
    const [newest] = await new InstancesRepository(fixture.core.database).page(planId, null, 1, needs);
    const pubkeyHash = newest?.spkiSha256.toString('hex') ?? '';
    const scans = await scansOfCharges(async (instances) => {
      const found = await instances.find(accountId, cn, { kind: 'key', pubkeyHash }, needs);
      expect(found).toMatchObject({ id: newest?.id, attempt: { invoiceNumber: numbersOf([20])[0] } });
    });
    expect(scans).toBe(2);
  });
});

describe('a page', () => {
  it('reads its own issuances, not all of the object', async () => {
    const read = await statisticOf('issuance', 'seq_tup_read + idx_tup_fetch', async (instances) => {
      const [newest] = await instances.page(planId, null, 1, needs);
      expect(await instances.page(planId, newest?.id ?? null, 1, needs)).toHaveLength(1);
    });
    expect(read).toBeLessThanOrEqual(6);
  });

  it('leaves nothing out when issuances were opened in another order than they were inserted', async () => {
    const { database } = fixture.core;
    const all = await new InstancesRepository(database).page(planId, null, 100, needs);
    await database.query(
      `UPDATE issuance SET opened_at = opened_at - interval '1 hour' WHERE plan_id = $1 AND id % 3 = 0`,
      [planId],
    );
    const seen: string[] = [];
    for (const _each of all) {
      const [next] = await new InstancesRepository(database).page(planId, seen.at(-1) ?? null, 1, needs);
      seen.push(next?.id ?? '');
    }
    expect(seen).toEqual(all.map(({ id }) => id));
  });
});

it('a list is read apart from the objects of other requests', async () => {
  const numbers: number[] = [];
  const query = async (_text: string, [planIds]: readonly [readonly string[]]) => {
    numbers.push(planIds.length);
    return await Promise.resolve([]);
  };
  const instances = new InstancesRepository({ query } as unknown as DataSource);
  const ofPlans = { current: { csr: 'pending', chain: true }, pending: null } as const;
  const list = (nth: number) => Array.from({ length: 1_000 }, (_, each) => String(1_000 * nth + each));
  await Promise.all(
    [list(1), list(2), ['1'], ['2']].map(async (ids) => await instances.ofPlans(ids, ofPlans)),
  );
  expect(numbers.sort((one, other) => one - other)).toEqual([2, 1_000, 1_000]);
});
