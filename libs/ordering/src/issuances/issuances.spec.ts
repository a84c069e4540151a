import { LeaseLost } from '@certwright/postgres';
import { CoreDatabaseFixture } from '@certwright/core-testing';

let core: CoreDatabaseFixture;
const accountId = '1000000000001';
const dnsNames = ['a.example.com'];

beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  await core.account(accountId);
});
afterAll(async () => await core.close());

interface Opened {
  readonly planId: string;
  readonly termsId: string;
  readonly issuanceId: string;
}

async function open(
  plan: { planId: string; termsId: string },
  revision = 1,
  settlingMs = 0,
): Promise<Opened> {
  const issuanceId = await core.transactions.run(
    async (tx) => await core.issuances.open(tx, { ...plan, accountId, revision, dnsNames, settlingMs }),
  );
  return { ...plan, issuanceId };
}

async function opened(): Promise<Opened> {
  return await open(await core.plan(accountId, dnsNames));
}

async function row(id: string) {
  const [found] = await core.database.query<
    [{ state: string; failures: number; due_in_s: number; leased: boolean }]
  >(
    `SELECT state, failures, extract(epoch FROM due_at - now())::float AS due_in_s, leased_until IS NOT NULL AS leased
     FROM issuance WHERE id = $1`,
    [id],
  );
  return found;
}

const wakeUps = async () => {
  const rows = await core.database.query<{ job_id: string }[]>(`SELECT job_id FROM outbox ORDER BY id`);
  return rows.map(({ job_id }) => job_id);
};

describe('an early attempt', () => {
  it('begins at once, however often the issuance has failed, and again when one is in progress', async () => {
    const { planId, issuanceId } = await opened();
    await core.database.query(
      `UPDATE issuance SET failures = 3, due_at = now() + interval '1 day', opened_at = now() - interval '1 h'
       WHERE id = $1`,
      [issuanceId],
    );
    const wake = async () =>
      await core.transactions.run(async (tx) => await core.wakeUps.wakePlan(tx, planId));
    await wake();
    const leased = await core.leased.lease(issuanceId, 5_000);
    if (leased === null) throw new Error('it is due');
    expect(leased.issuance.failures).toBe(3);
    await wake();
    const dueAt = new Date(Date.now() + 86_400_000);
    await core.leased.save(leased.lease, { failures: 4, dueAt }, 'release');
    const { failures, due_in_s: dueInS } = await row(issuanceId);
    expect(failures).toBe(4);
    expect(dueInS).toBeLessThanOrEqual(0);
  });
});

describe('opening an issuance', () => {
  it('writes the wake-up in the same transaction', async () => {
    const { issuanceId } = await opened();
    expect(await wakeUps()).toContain(`advance-issuance-${issuanceId}-0`);
  });

  it('leaves no rows when the transaction fails', async () => {
    const plan = await core.plan(accountId, dnsNames);
    const before = await wakeUps();
    const failing = core.transactions.run(async (tx) => {
      await core.issuances.open(tx, { ...plan, accountId, revision: 1, dnsNames, settlingMs: 0 });
      throw new Error('the caller fails');
    });
    await expect(failing).rejects.toThrow('the caller fails');
    expect(await wakeUps()).toEqual(before);
    expect(await core.issuances.latestOf([plan.planId])).toEqual([]);
  });

  it('supersedes the open one', async () => {
    const first = await opened();
    const second = await open(first, 2);
    expect((await row(first.issuanceId)).state).toBe('superseded');
    expect((await row(second.issuanceId)).state).toBe('open');
  });

  it('makes one certificate of several modifications: the settling window starts with the first', async () => {
    const plan = await core.plan(accountId, dnsNames);
    const first = await open(plan, 2, 10_000);
    await core.database.query(`UPDATE issuance SET due_at = due_at - interval '8 s' WHERE id = $1`, [
      first.issuanceId,
    ]);
    const second = await open(plan, 3, 10_000);
    expect((await row(second.issuanceId)).due_in_s).toBeLessThan(2.1);
    expect(await wakeUps()).not.toContain(`advance-issuance-${second.issuanceId}-0`);
  });

  it('waits for the whole settling window when the superseded one waits for its next attempt', async () => {
    const first = await opened();
    const work = await core.leased.lease(first.issuanceId, 10_000);
    if (work === null) throw new Error('it is due');
    await core.leased.save(work.lease, { dueAt: new Date(Date.now() + 3_000) }, 'release');
    const second = await open(first, 2, 10_000);
    expect((await row(second.issuanceId)).due_in_s).toBeGreaterThan(9);
  });
});

describe('a lease', () => {
  it('is granted to one of many concurrent workers', async () => {
    const { issuanceId } = await opened();
    const attempts = await Promise.all(
      Array.from({ length: 8 }, async () => await core.leased.lease(issuanceId, 10_000)),
    );
    expect(attempts.filter((work) => work !== null)).toHaveLength(1);
  });

  it('is not granted before the issuance is due', async () => {
    const plan = await core.plan(accountId, dnsNames);
    const { issuanceId } = await open(plan, 2, 10_000);
    expect(await core.leased.lease(issuanceId, 10_000)).toBeNull();
  });

  it('is invalid once another worker holds a newer one: the token is older', async () => {
    const { issuanceId } = await opened();
    const first = await core.leased.lease(issuanceId, 0);
    const second = await core.leased.lease(issuanceId, 10_000);
    if (first === null || second === null) throw new Error('both leases are given');
    await expect(core.leased.save(first.lease, { failures: 9 }, 'release')).rejects.toThrow(LeaseLost);
    await core.leased.save(second.lease, { failures: 1 }, 'release');
    expect((await row(issuanceId)).failures).toBe(1);
  });

  it('is invalid after it expires by the database clock, even if no other worker took it', async () => {
    const { issuanceId } = await opened();
    const work = await core.leased.lease(issuanceId, 0);
    if (work === null) throw new Error('the lease is given');
    await expect(core.leased.save(work.lease, { failures: 9 }, 'release')).rejects.toThrow(LeaseLost);
    expect((await row(issuanceId)).failures).toBe(0);
  });

  it('is invalid once newer terms supersede the issuance', async () => {
    const first = await opened();
    const work = await core.leased.lease(first.issuanceId, 10_000);
    if (work === null) throw new Error('the lease is given');
    await open(first, 2);
    await expect(core.leased.save(work.lease, { failures: 9 }, 'release')).rejects.toThrow(LeaseLost);
  });

  it('reads all inputs of the next step', async () => {
    const plan = await core.plan(accountId, ['*.example.org', 'example.org']);
    await core.transactions.run(
      async (tx) => await core.delegations.ensure(tx, accountId, ['example.org'], () => 'a'.repeat(32)),
    );
    const { issuanceId } = await open(plan);
    const work = await core.leased.lease(issuanceId, 10_000);
    expect(work?.product).toMatchObject({ name: 'free_ca', available: true, lifetimeDays: 90 });
    expect(work?.terms.dnsNames).toEqual(['*.example.org', 'example.org']);
    expect(work?.delegationLabels).toEqual(new Map([['example.org', 'a'.repeat(32)]]));
    expect(work?.validUntil).toBeNull();
  });
});

describe('the sweep', () => {
  const due = async () => (await core.leased.due(1_000)).map(({ id }) => id);

  it('finds due issuances without a lease, from PostgreSQL alone', async () => {
    const { issuanceId } = await opened();
    await core.database.query('DELETE FROM outbox');
    expect(await due()).toContain(issuanceId);
    const work = await core.leased.lease(issuanceId, 10_000);
    expect(await due()).not.toContain(issuanceId);
    if (work === null) throw new Error('the lease is given');
    await core.leased.save(work.lease, { dueAt: new Date(Date.now() + 60_000) }, 'release');
    expect(await due()).not.toContain(issuanceId);
  });

  it('finds the issuances of a dead worker once its lease has expired', async () => {
    const { issuanceId } = await opened();
    await core.leased.lease(issuanceId, 0);
    expect(await due()).toContain(issuanceId);
  });
});

describe('the rules of the specification are constraints', () => {
  it('allows at most one open issuance per plan', async () => {
    const { planId, termsId } = await opened();
    const second = core.database.query(
      `INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at)
       VALUES ($1, $2, $3, 9, 'open', '[]', now())`,
      [planId, accountId, termsId],
    );
    await expect(second).rejects.toThrow('issuance_one_open_per_plan');
  });

  it('allows at most one certificate per revision', async () => {
    const { planId, termsId } = await core.plan(accountId, dnsNames);
    const issued = async () =>
      await core.database.query(
        `INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at, closed_at)
         VALUES ($1, $2, $3, 1, 'issued', '[]', now(), now())`,
        [planId, accountId, termsId],
      );
    await issued();
    await expect(issued()).rejects.toThrow('issuance_one_issued_per_revision');
  });

  it('terms never change', async () => {
    const { termsId } = await core.plan(accountId, dnsNames);
    await expect(
      core.database.query(`UPDATE terms SET key_type = 'rsa' WHERE id = $1`, [termsId]),
    ).rejects.toThrow('immutable');
  });
});
