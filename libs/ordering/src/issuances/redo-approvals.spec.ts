import { approvalOf, type StoredApproval } from '@certwright/outcome-messages';
import { LeaseLost } from '@certwright/postgres';
import { randomBytes } from 'node:crypto';
import type { ApprovalWay, NameApproval } from '@certwright/issuance';
import { DnsIntegrations } from '@certwright/dns-integrations';
import { EmailApprovals } from '@certwright/approvals';
import { Mails } from '@certwright/delivery';
import { CoreDatabaseFixture } from '@certwright/core-testing';
import { integrationFixture } from '@certwright/core-testing';
import {
  byDns,
  byEmail,
  byHttp,
  type PlanWithWays,
  planWithWays,
  sayOtherwise,
} from '@certwright/core-testing';

import { approvalUnder } from './redo-approvals';

const accountId = '1000000000001';
const [a, b] = ['a.example.com', 'b.example.com'];
const leaseMs = 60_000;

let core: CoreDatabaseFixture;
beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  await core.account(accountId);
});
afterAll(async () => await core.close());

type Ways = Readonly<Record<string, ApprovalWay>> | null;

/** The caller holds the plan's row, as every API does. */
async function redo({ planId, termsId }: PlanWithWays, ways: Ways, terms = termsId): Promise<unknown> {
  return await core.transactions.run(async (tx) => {
    await tx.query(`SELECT 1 FROM plan WHERE id = $1 FOR UPDATE`, [planId]);
    return await core.issuances.redoApprovals(tx, planId, ways, terms);
  });
}

async function lease({ issuanceId }: PlanWithWays) {
  const work = await core.leased.lease(issuanceId, leaseMs);
  if (work === null) throw new Error('the issuance is due and free');
  return work;
}

/** The state after a run that approved some names and waits for the others. */
async function approve(plan: PlanWithWays, methods: Readonly<Record<string, NameApproval['method']>>) {
  const work = await lease(plan);
  const approvals = work.issuance.approvals.map((approval): NameApproval => {
    const method = methods[approval.dnsName] ?? null;
    const checkedAt = '2026-11-20T12:00:00Z';
    return method === null
      ? { ...approval, problem: { code: 'dns_zone_unknown', dnsName: approval.dnsName } as const, checkedAt }
      : { ...approval, status: 'approved', method, checkedAt };
  });
  const dueAt = new Date(Date.now() + 3_600_000);
  await core.leased.save(work.lease, { approvals, dueAt }, 'release');
  return approvals;
}

const rowOf = async ({ issuanceId }: PlanWithWays) => {
  const [row] = await core.database.query<
    [
      {
        approvals: StoredApproval[];
        terms_id: string;
        lease_token: string;
        failures: number;
        ca_reference: string | null;
        state: string;
        due: boolean;
        free: boolean;
      },
    ]
  >(
    `SELECT approvals, terms_id, lease_token, failures, ca_reference, state, due_at <= clock_timestamp() AS due,
       leased_until IS NULL AS free FROM issuance WHERE id = $1`,
    [issuanceId],
  );
  return { ...row, approvals: row.approvals.map(approvalOf) };
};

const jobs = async () => {
  const rows = await core.database.query<{ job_id: string }[]>(`SELECT job_id FROM outbox ORDER BY id`);
  return rows.map(({ job_id }) => job_id);
};

const pending = (dnsName: string, way?: ApprovalWay): NameApproval => {
  const unapproved = { dnsName, status: 'pending', method: null, problem: null, checkedAt: null } as const;
  return way === undefined ? unapproved : { ...unapproved, way };
};

describe('redoing the approvals of an open issuance', () => {
  it('sets the new methods; approvals by the same method stay, all others are checked now', async () => {
    const plan = await planWithWays(core, accountId, { [a]: byDns, [b]: byDns });
    const [approvedA] = await approve(plan, { [a]: 'dns', [b]: 'dns' });
    expect(await redo(plan, { [a]: byDns, [b]: byEmail('admin@example.com') })).toBe(true);
    const row = await rowOf(plan);
    expect(row.approvals).toEqual([approvedA, pending(b, byEmail('admin@example.com'))]);
    expect(row).toMatchObject({ due: true, free: true, lease_token: '2', state: 'open' });
    expect(await jobs()).toContain(`advance-issuance-${plan.issuanceId}-2`);
  });

  it('checks pending names again although no method has changed, and keeps the last result until then', async () => {
    const plan = await planWithWays(core, accountId, { [a]: byHttp });
    const found = await approve(plan, {});
    expect(await redo(plan, { [a]: byHttp })).toBe(true);
    expect(await rowOf(plan)).toMatchObject({ approvals: found, due: true });
  });

  it('allows any method when none is set any more, and leaves names alone that are not listed', async () => {
    const plan = await planWithWays(core, accountId, { [a]: byHttp, [b]: byDns });
    await redo(plan, { [a]: byDns, 'c.example.com': byHttp });
    expect((await rowOf(plan)).approvals).toEqual([pending(a, byDns), pending(b, byDns)]);
    await redo(plan, null);
    expect((await rowOf(plan)).approvals).toEqual([pending(a), pending(b)]);
  });

  it('revokes the lease of a worker: its results are discarded, and the next run uses the new methods', async () => {
    const plan = await planWithWays(core, accountId, { [a]: byDns });
    const frozen = await lease(plan);
    expect(await redo(plan, { [a]: byEmail('admin@example.com') })).toBe(true);

    const approvals: NameApproval[] = [{ ...pending(a, byDns), status: 'approved', method: 'dns' }];
    for (const after of ['release', { keepForMs: leaseMs }] as const) {
      const saving = core.leased.save(frozen.lease, { approvals, caReference: 'stale' }, after);
      await expect(saving).rejects.toThrow(LeaseLost);
    }
    await expect(core.leased.save(frozen.lease, {}, { keepForMs: leaseMs })).rejects.toThrow(LeaseLost);
    const next = await lease(plan);
    expect(next.issuance).toMatchObject({
      approvals: [pending(a, byEmail('admin@example.com'))],
      caReference: null,
    });
    expect(next.lease.token).toBe('3');
  });

  it('keeps the attempt at the CA and the failure count, but ends the wait', async () => {
    const plan = await planWithWays(core, accountId, { [a]: byDns });
    const { lease: held } = await lease(plan);
    const dueAt = new Date(Date.now() + 3_600_000);
    await core.leased.save(held, { caReference: 'acme:7', failures: 3, dueAt }, 'release');
    await redo(plan, { [a]: byHttp });
    expect(await rowOf(plan)).toMatchObject({ ca_reference: 'acme:7', failures: 3, due: true });
  });

  it('changes nothing when the transaction fails', async () => {
    const plan = await planWithWays(core, accountId, { [a]: byDns });
    const [before, jobsBefore] = [await rowOf(plan), await jobs()];
    const failing = core.transactions.run(async (tx) => {
      await core.issuances.redoApprovals(tx, plan.planId, { [a]: byHttp }, plan.termsId);
      throw new Error('the caller fails');
    });
    await expect(failing).rejects.toThrow('the caller fails');
    expect([await rowOf(plan), await jobs()]).toEqual([before, jobsBefore]);
  });

  it.each(['canceled', 'superseded'] as const)('does nothing when it is %s', async (state) => {
    const plan = await planWithWays(core, accountId, { [a]: byDns });
    await core.transactions.run(async (tx) => await core.issuances.closeOpen(tx, plan.planId, state));
    const [before, jobsBefore] = [await rowOf(plan), await jobs()];
    expect(await redo(plan, { [a]: byHttp })).toBe(false);
    expect([await rowOf(plan), await jobs()]).toEqual([before, jobsBefore]);
  });

  it('touches no other plan', async () => {
    const [plan, other] = [
      await planWithWays(core, accountId, { [a]: byDns }),
      await planWithWays(core, accountId, { [a]: byDns }),
    ];
    const before = await rowOf(other);
    await redo(plan, { [a]: byHttp });
    expect(await rowOf(other)).toEqual(before);
  });
});

describe('the terms of an issuance whose approvals are redone', () => {
  it('are those with the new methods, of the same certificate', async () => {
    const plan = await planWithWays(core, accountId, { [a]: byDns });
    const ways = { [a]: byHttp };
    const termsId = await sayOtherwise(core, plan, ways, { dnsNames: [a] });
    await redo(plan, ways, termsId);
    expect((await rowOf(plan)).terms_id).toBe(termsId);
  });

  it.each<[string, Parameters<typeof sayOtherwise>[3]]>([
    ['other names', { dnsNames: [a, b] }],
    ['another key', { dnsNames: [a], csr: randomBytes(8) }],
    ['another product', { dnsNames: [a], product: 'free_ca' }],
  ])('stay where the newest ones want %s: what was bought is issued', async (_, also) => {
    const plan = await planWithWays(core, accountId, { [a]: byDns });
    const ways = { [a]: byHttp, [b]: byHttp };
    const termsId = await sayOtherwise(core, plan, ways, also);
    await redo(plan, ways, termsId);
    expect(await rowOf(plan)).toMatchObject({ terms_id: plan.termsId, approvals: [pending(a, byHttp)] });
  });

  it('are never those of another plan', async () => {
    const plan = await planWithWays(core, accountId, { [a]: byDns });
    const other = await planWithWays(core, accountId, { [a]: byDns });
    const same = await sayOtherwise(core, { ...other, certified: plan.certified }, null, { dnsNames: [a] });
    await redo(plan, { [a]: byHttp }, same);
    expect((await rowOf(plan)).terms_id).toBe(plan.termsId);
  });
});

describe('the prerequisites of approvals', () => {
  it('sends pending mailboxes another mail, ten minutes after the last one at the earliest', async () => {
    const { database, transactions, wakeUps } = core;
    const approvals = new EmailApprovals(database, transactions, new Mails(database), wakeUps);
    const address = 'admin@example.com';
    const plan = await planWithWays(core, accountId, { [a]: byEmail(address) });
    const box = { accountId, planId: plan.planId, dnsName: a, address };
    const mails = async () => {
      await approvals.request(box, new Date(0));
      const [row] = await database.query<[{ count: number }]>(
        `SELECT count(*)::int FROM mail WHERE recipient = $1`,
        [address],
      );
      return row.count;
    };
    expect(await mails()).toBe(1);
    await redo(plan, { [a]: byEmail(address) });
    expect(await mails()).toBe(1);
    await database.query(`UPDATE email_approval SET asked_at = asked_at - interval '11 min'`);
    expect(await mails()).toBe(1);
    await redo(plan, { [a]: byEmail(address) });
    expect(await mails()).toBe(2);
  });

  it('checks records that an integration publishes for the plan now, and no others', async () => {
    const fixture = integrationFixture(core, new DnsIntegrations(core.database, core.transactions));
    const integrationId = await fixture.create(accountId);
    const plan = await planWithWays(core, accountId, { [a]: byDns });
    for (const dnsName of [a, b])
      await fixture.record(integrationId, { dnsName, state: 'standing', dueInS: null });
    await core.database.query(
      `INSERT INTO approval_record_use (record_id, plan_id) SELECT id, $1 FROM approval_record WHERE dns_name = $2`,
      [plan.planId, a],
    );
    await redo(plan, { [a]: byDns });
    const due = await core.database.query<{ dns_name: string }[]>(
      `SELECT dns_name FROM approval_record WHERE due_at <= clock_timestamp()`,
    );
    expect(due).toEqual([{ dns_name: a }]);
  });
});

describe('approvalUnder', () => {
  it('reads only the entry of the name itself', () => {
    const approval = pending('constructor', byDns);
    expect(approvalUnder({}, approval)).toBe(approval);
    expect(approvalUnder(JSON.parse('{"__proto__":{"constructor":1}}') as Ways, approval)).toBe(approval);
  });
});
