import { randomUUID } from 'node:crypto';
import { type Issuance, type IssuanceError, type NameApproval, phaseOf } from '@certwright/issuance';
import { CoreDatabaseFixture } from '@certwright/core-testing';
import { IssuanceStatisticsReader } from './issuance-statistics';

const accountId = '1000000000001';
const dnsNames = ['www.example.com'];

let core: CoreDatabaseFixture;
beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  await core.account(accountId);
});
afterAll(async () => await core.close());

const error = (code: IssuanceError['code']): IssuanceError => ({
  code,
  outcome: { code: 'text', text: randomUUID() },
});
const approval = (status: NameApproval['status']): NameApproval => ({
  ...{ dnsName: 'www.example.com', method: 'dns', problem: null, checkedAt: null },
  ...{ status, approvedAt: status === 'approved' ? new Date() : null },
});

it('counts open issuances by the phase that their orders show', async () => {
  const counted: Record<string, number> = {};
  for (const paused of [false, true])
    for (const failures of [0, 1])
      for (const lastError of [null, error('rate_limited'), error('ca_unavailable')])
        for (const dueS of [-60, 3_600])
          for (const [status, waitsFor] of [
            ['approved', null],
            ['pending', null],
            ['approved', ['ca']],
          ] as const) {
            const { planId, termsId } = await core.plan(accountId, dnsNames);
            const opening = { planId, accountId, termsId, revision: 1, dnsNames, settlingMs: 0 };
            await core.transactions.run(async (tx) => await core.issuances.open(tx, opening));
            const dueAt = new Date(Date.now() + dueS * 1_000);
            const approvals = [approval(status)];
            await core.database.query(`UPDATE plan SET paused = $2 WHERE id = $1`, [planId, paused]);
            await core.database.query(
              `UPDATE issuance SET failures = $2, last_error = $3, due_at = $4, approvals = $5, waits_for = $6
               WHERE plan_id = $1`,
              [planId, failures, lastError, dueAt, JSON.stringify(approvals), waitsFor],
            );
            const issuance = {
              state: 'open',
              termsId,
              approvals,
              failures,
              dueAt,
              lastError,
              waitsFor,
            } as const;
            const latest: Pick<Issuance, keyof typeof issuance> = issuance;
            const phase = phaseOf({ paused, termsId }, latest, new Date());
            counted[phase] = (counted[phase] ?? 0) + 1;
          }
  expect(Object.keys(counted).sort()).toEqual([
    ...['awaiting_approval', 'backoff', 'issuing', 'paused', 'rate_limited'],
  ]);
  const { byPhase, due, oldestDueS } = await new IssuanceStatisticsReader(core.database).read();
  expect(byPhase).toEqual({ awaiting_csr: 0, ...counted });
  expect(due).toBe(36);
  expect(oldestDueS).toBeGreaterThanOrEqual(60);
});
