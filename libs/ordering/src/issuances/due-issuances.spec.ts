import { CoreDatabaseFixture } from '@certwright/core-testing';
import { recordSpans } from '@certwright/testing';

let core: CoreDatabaseFixture;
beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
});
afterAll(async () => await core.close());

/** Issuances that have been due for so many seconds, one plan each. */
async function dueOf(account: string, count: number, forS: number): Promise<void> {
  await core.account(account);
  const plan = await core.plan(account, ['a.example.com']);
  await core.database.query(
    `WITH plans AS (
       INSERT INTO plan (account_id, revision, auto_renew, muted, paused, download_token, terms_id)
       SELECT $1::bigint, 1, true, false, false, $1::bigint || '-' || n, $3::bigint FROM generate_series(1, $2::int) AS n RETURNING id)
     INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at)
     SELECT id, $1::bigint, $3::bigint, 1, 'open', '[]', now() - ($4::int + id % 100) * interval '1 second' FROM plans`,
    [account, count, plan.termsId, forS],
  );
}

const sharesOf = async (limit: number) => {
  const shares = new Map<string, number>();
  for (const { accountId } of await core.leased.due(limit)) {
    shares.set(accountId, (shares.get(accountId) ?? 0) + 1);
  }
  return Object.fromEntries(shares);
};

describe('due issuances', () => {
  it('are shared among accounts when there are more than the limit; the rest goes to the oldest', async () => {
    await dueOf('1', 2_000, 1_000);
    await dueOf('2', 300, 500);
    await dueOf('3', 1, 0);
    expect(await sharesOf(100)).toEqual({ '1': 66, '2': 33, '3': 1 });
  });

  it('are all returned when there are fewer than the limit, oldest first', async () => {
    const due = await core.leased.due(10_000);
    expect(due).toHaveLength(2_301);
    const waits = due.map(({ overdueS }) => overdueS);
    expect(waits).toEqual([...waits].sort((one, other) => other - one));
  });

  it('have the traceparent and the age of their row while the process records spans', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await core.database.query(
      `UPDATE issuance SET traceparent = $1, opened_at = now() - interval '1 hour' WHERE account_id = 3`,
      [traceparent],
    );
    expect(Object.keys((await core.leased.due(1))[0] ?? {})).not.toContain('traceparent');
    const { stop } = recordSpans();
    try {
      for (const limit of [100, 10_000]) {
        const due = await core.leased.due(limit);
        const [of3] = due.filter(({ accountId }) => accountId === '3');
        expect(of3).toMatchObject({ traceparent });
        expect(of3?.ageS).toBeGreaterThanOrEqual(3_600);
        expect(due.find(({ accountId }) => accountId === '1')).toMatchObject({ traceparent: null });
      }
    } finally {
      stop();
    }
  });

  it('omit leased ones, and accounts whose issuances are all leased', async () => {
    await core.database.query(
      `UPDATE issuance SET leased_until = now() + interval '1 minute' WHERE account_id IN (2, 3)`,
    );
    expect(Object.keys(await sharesOf(100))).toEqual(['1']);
  });
});
