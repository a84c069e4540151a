import { randomBytes } from 'node:crypto';
import { CoreDatabaseFixture } from '@certwright/core-testing';

const [mine, theirs] = ['1000000000001', '1000000000002'] as const;

let core: CoreDatabaseFixture;

beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  for (const account of [mine, theirs]) await core.account(account);
});
afterAll(async () => await core.close());
beforeEach(async () => {
  for (const table of ['delegation', 'order_v3', 'issuance', 'terms', 'plan'])
    await core.database.query(`DELETE FROM ${table}`);
});

const fresh = () => randomBytes(16).toString('hex');
const ensure = async (account: string, ...names: string[]) =>
  await core.transactions.run(async (tx) => await core.delegations.ensure(tx, account, names, fresh));
const close = async (planId: string) =>
  await core.transactions.run(async (tx) => await core.plans.close(tx, planId));

/** All of them, in batches. */
async function retireAll(batch = 2): Promise<void> {
  while ((await core.delegations.retireUnused(batch)) === batch);
}

/** `account name`. */
async function retired(): Promise<readonly string[]> {
  const rows: { one: string }[] = await core.database.query(
    `SELECT account_id || ' ' || dns_name AS one FROM delegation WHERE retired_at IS NOT NULL ORDER BY 1`,
  );
  return rows.map(({ one }) => one);
}

it('retires names that no open plan of the account has, in batches of any size', async () => {
  await core.plan(mine, ['a.example.com', '*.b.example.com']);
  const { planId } = await core.plan(theirs, ['a.example.com']);
  await ensure(mine, 'a.example.com', 'b.example.com', 'c.example.com');
  await ensure(theirs, 'a.example.com', 'b.example.com');
  await retireAll();
  expect(await retired()).toEqual([`${mine} c.example.com`, `${theirs} b.example.com`]);
  await close(planId);
  await retireAll(100);
  expect(await retired()).toEqual([
    `${mine} c.example.com`,
    `${theirs} a.example.com`,
    `${theirs} b.example.com`,
  ]);
});

it('keeps the names of an open issuance, although its plan has other names by now', async () => {
  const { planId, termsId } = await core.plan(mine, ['old.example.com']);
  await ensure(mine, 'old.example.com', 'new.example.com');
  const issuance = {
    planId,
    accountId: mine,
    termsId,
    revision: 1,
    dnsNames: ['old.example.com'],
    settlingMs: 0,
  };
  await core.transactions.run(async (tx) => {
    await core.issuances.open(tx, issuance);
    await tx.query(`UPDATE plan SET terms_id = NULL WHERE id = $1`, [planId]);
  });
  await retireAll();
  expect(await retired()).toEqual([`${mine} new.example.com`]);
  await core.transactions.run(async (tx) => void (await core.issuances.closeOpen(tx, planId, 'canceled')));
  await retireAll();
  expect(await retired()).toHaveLength(2);
});

it('keeps when it was retired', async () => {
  await ensure(mine, 'a.example.com');
  const when = async () => {
    await retireAll();
    return await core.database.query<unknown[]>(`SELECT retired_at FROM delegation`);
  };
  expect(await when()).toEqual(await when());
});

it('keeps the names of an order that waits for its CSR', async () => {
  const { planId } = await core.plan(mine, ['old.example.com']);
  await core.transactions.run(async (tx) => await core.plans.clearTerms(tx, planId));
  await core.database.query(
    `INSERT INTO order_v3 (plan_id, account_id, name, dns_names, approver_emails, product, key_type)
     VALUES ($1, $2, 'mine', '{new.example.com,*.wild.example.com}', '{}', 'free_ca', 'ecdsa')`,
    [planId, mine],
  );
  await ensure(mine, 'old.example.com', 'new.example.com', 'wild.example.com');
  await retireAll();
  expect(await retired()).toEqual([`${mine} old.example.com`]);
  await close(planId);
  await retireAll();
  expect(await retired()).toHaveLength(3);
});

it('restores a name that is used again, with its label', async () => {
  const labels = await ensure(mine, 'a.example.com');
  await retireAll();
  expect(await retired()).toHaveLength(1);
  expect(await ensure(mine, 'a.example.com', 'b.example.com')).toEqual(
    new Map([...labels, ['b.example.com', expect.any(String)]]),
  );
  expect(await retired()).toEqual([]);
});

it('brings back the same names side by side, in whichever sequence they are named', async () => {
  const names = ['a.example.com', 'b.example.com', 'c.example.com'];
  for (let round = 0; round < 4; round += 1) {
    await ensure(mine, ...names);
    await core.database.query(`UPDATE delegation SET retired_at = now()`);
    const transactions = Array.from({ length: 8 }, async (_, nth) =>
      core.database.transaction(
        async (tx) =>
          await core.delegations.ensure(tx, mine, nth % 2 === 0 ? names : [...names].reverse(), fresh),
      ),
    );
    const [first, ...others] = await Promise.all(transactions);
    for (const other of others)
      expect(new Map([...other].sort())).toEqual(new Map([...(first ?? [])].sort()));
    expect(await core.database.query(`SELECT 1 FROM delegation WHERE retired_at IS NOT NULL`)).toEqual([]);
  }
});

it('restores a retired delegation when an open plan names it', async () => {
  await ensure(mine, 'a.example.com');
  await retireAll();
  await core.plan(mine, ['a.example.com']);
  await retireAll();
  expect(await retired()).toEqual([]);
});

it('does not retire a delegation that an order is about to name', async () => {
  await ensure(mine, 'a.example.com', 'b.example.com');
  await core.transactions.run(async (tx) => {
    await core.delegations.ensure(tx, mine, ['a.example.com'], fresh);
    await retireAll();
  });
  expect(await retired()).toEqual([`${mine} b.example.com`]);
});
