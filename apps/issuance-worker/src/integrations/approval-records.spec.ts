import { LeaseLost } from '@certwright/postgres';
import type { Placement } from '@certwright/issuance';
import { DnsIntegrations } from '@certwright/dns-integrations';
import { LeasedIntegrations } from '@certwright/dns-integrations';
import type { IntegrationLease } from '@certwright/dns-integrations';

import { CoreDatabaseFixture } from '@certwright/core-testing';
import { integrationFixture, type IntegrationFixture } from '@certwright/core-testing';
import { ApprovalRecords } from '@certwright/approvals';
import { recordSpans } from '@certwright/testing';
import { inSpan } from '@certwright/tracing';
import { LeasedRecords } from './leased-records';

const leaseMs = 60_000;
const name = 'www.example.com';

let core: CoreDatabaseFixture;
let fixture: IntegrationFixture;
let integrations: LeasedIntegrations;
let records: ApprovalRecords;
let leased: LeasedRecords;

beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  const { database, transactions, wakeUps } = core;
  fixture = integrationFixture(core, new DnsIntegrations(database, transactions));
  integrations = new LeasedIntegrations(database, transactions);
  records = new ApprovalRecords(database, transactions);
  leased = new LeasedRecords(database, transactions, wakeUps);
  for (const account of ['1', '2']) await core.account(account);
});
afterAll(async () => await core.close());
beforeEach(async () => {
  await core.database.query(`DELETE FROM approval_record_use`);
  await fixture.clear();
});

/** A plan with an open, leased issuance. */
async function opened(accountId: string, dnsNames: readonly string[] = [name]) {
  const { planId, termsId } = await core.plan(accountId, dnsNames);
  const opening = { planId, accountId, termsId, revision: 1, dnsNames, settlingMs: 0 };
  const issuanceId = await core.transactions.run(async (tx) => await core.issuances.open(tx, opening));
  return { planId, accountId, issuanceId };
}

const leaseOf = async ({ issuanceId }: { readonly issuanceId: string }) => {
  const work = await core.leased.lease(issuanceId, leaseMs);
  if (work === null) throw new Error('an issuance that was just opened can be leased');
  return work;
};

const at = (integrationId: string, dnsName = name, zoneName = 'example.com'): Placement => {
  return { dnsName, integrationId, zoneName };
};

type Opened = Awaited<ReturnType<typeof opened>>;

/** The worker's step for a due issuance. */
async function want(subject: Opened, placements: readonly Placement[]): Promise<void> {
  await core.database.query(`UPDATE issuance SET due_at = now(), leased_until = NULL WHERE id = $1`, [
    subject.issuanceId,
  ]);
  const { lease } = await leaseOf(subject);
  await records.want(lease, subject, placements, (dnsName) => `label-of-${dnsName}.approval.test`);
  await core.leased.save(lease, {}, 'release');
}

async function integrationLease(id: string): Promise<IntegrationLease> {
  const held = await integrations.lease(id, leaseMs);
  if (held === null) throw new Error('the integration is free');
  return held.lease;
}

async function dueAt(lease: IntegrationLease) {
  return await leased.due(lease, 100);
}

/** Marks the only due record as standing and no longer due. */
async function stand(lease: IntegrationLease): Promise<void> {
  for (const { record } of await dueAt(lease)) {
    const change = {
      state: 'standing',
      attemptedAt: new Date(),
      recordHandle: 'handle',
      dueAt: null,
    } as const;
    expect(await leased.save(lease, record, change)).toBe(true);
  }
}

async function rows(): Promise<readonly Record<string, unknown>[]> {
  return await core.database.query(
    `SELECT account_id, integration_id, dns_name, state, target, record_handle, attempted_at IS NOT NULL AS attempted,
       due_at <= clock_timestamp() AS due FROM approval_record ORDER BY id`,
  );
}

/** The wake-ups since the last call. */
async function takeWakeUps(): Promise<readonly { readonly job_id: string }[]> {
  const [jobs] = await core.database.query<[{ job_id: string }[], number]>(
    `DELETE FROM outbox RETURNING job_id`,
  );
  return jobs;
}

describe('an account', () => {
  it('without integrations is recognized when its issuance is leased', async () => {
    await fixture.create('2');
    expect((await leaseOf(await opened('1'))).hasIntegrations).toBe(false);
    expect((await leaseOf(await opened('2'))).hasIntegrations).toBe(true);
  });

  it('is covered by its own integrations only, and not by deleted ones', async () => {
    const integrationId = await fixture.create('1');
    await fixture.create('2', [{ id: 'z', name: 'www.example.com' }]);
    const deleted = await fixture.create('1', [{ id: 'z', name: 'com' }]);
    await fixture.delete('1', deleted);
    const { zones } = await records.coverageOf('1', '0', [name, 'other.example.net']);
    expect(zones).toMatchObject([{ integrationId, zoneName: 'example.com', ok: true }]);
  });
});

describe('a required record', () => {
  it('is due, used by the plan, and enqueued', async () => {
    const integration = await fixture.create('1');
    const plan = await opened('1');
    await takeWakeUps();
    await want(plan, [at(integration)]);
    expect(await rows()).toMatchObject([
      { integration_id: integration, state: 'wanted', due: true, target: `label-of-${name}.approval.test` },
    ]);
    expect(await takeWakeUps()).toContainEqual({ job_id: `keep-integration-${integration}-0` });
    const { records: live } = await records.coverageOf('1', plan.planId, [name]);
    expect(live.get(name)).toMatchObject({ integrationId: integration, linked: true, state: 'wanted' });
    expect((await records.coverageOf('1', '0', [name])).records.get(name)).toMatchObject({ linked: false });
  });

  it('is not stored after the lease is lost', async () => {
    const integration = await fixture.create('1');
    const plan = await opened('1');
    const { lease } = await leaseOf(plan);
    await core.database.query(`UPDATE issuance SET lease_token = lease_token + 1 WHERE id = $1`, [
      plan.issuanceId,
    ]);
    await expect(records.want(lease, plan, [at(integration)], () => 'target')).rejects.toThrow(LeaseLost);
    expect(await rows()).toEqual([]);
  });

  it('is not stored for an integration that was deleted, or is another account’s', async () => {
    const deleted = await fixture.create('1');
    const foreign = await fixture.create('2');
    await fixture.delete('1', deleted);
    await want(await opened('1'), [at(deleted), at(foreign, 'other.example.com')]);
    expect(await rows()).toEqual([]);
  });

  it('is shared by all plans of an account, also with concurrent requests, and separate per account', async () => {
    const mine = await fixture.create('1');
    const theirs = await fixture.create('2');
    const plans = await Promise.all([opened('1'), opened('1'), opened('1')]);
    await Promise.all(plans.map(async (plan) => await want(plan, [at(mine), at(mine, 'b.example.com')])));
    await want(await opened('2'), [at(theirs)]);
    expect((await rows()).map(({ account_id, dns_name }) => [account_id, dns_name])).toEqual(
      expect.arrayContaining([
        ['1', 'b.example.com'],
        ['1', name],
        ['2', name],
      ]),
    );
    expect(await rows()).toHaveLength(3);
  });

  it('moves to another integration without its handle, and the old holder can no longer write', async () => {
    const old = await fixture.create('1');
    const young = await fixture.create('1');
    const plan = await opened('1');
    await want(plan, [at(old)]);
    const lease = await integrationLease(old);
    const [due] = await dueAt(lease);
    await stand(lease);
    await want(plan, [at(young)]);
    expect(await rows()).toMatchObject([
      { integration_id: young, state: 'wanted', record_handle: null, attempted: true, due: true },
    ]);
    if (due === undefined) throw new Error('it was due');
    expect(await leased.save(lease, due.record, { state: 'removed' })).toBe(false);
    expect(await rows()).toMatchObject([{ state: 'wanted' }]);
  });
});

describe('a record is needed', () => {
  const needed = async (lease: IntegrationLease) => (await dueAt(lease)).map((due) => due.needed);

  it('while an open plan names it, as a wildcard too, and no longer; each change makes it due', async () => {
    const integration = await fixture.create('1');
    const plan = await opened('1', [`*.${name}`, 'b.example.com']);
    await want(plan, [at(integration)]);
    const lease = await integrationLease(integration);
    expect(await needed(lease)).toEqual([true]);
    const terms = {
      product: 'free_ca',
      keyType: 'ecdsa',
      csr: Buffer.of(1),
      spkiSha256: Buffer.alloc(32),
      approverEmails: {},
    } as const;
    const { planId } = plan;
    const flags = { autoRenew: true, muted: true, paused: false };
    const change = async (work: Parameters<typeof core.transactions.run>[0]) => {
      await stand(lease);
      expect(await needed(lease)).toEqual([]);
      await core.transactions.run(work);
      return await needed(lease);
    };
    expect(await change(async (tx) => await core.plans.modify(tx, planId, flags))).toEqual([true]);
    // Without a CSR, all names count that it uses now or used before.
    expect(await change(async (tx) => await core.plans.clearTerms(tx, planId))).toEqual([true]);
    const kept = [name, 'b.example.com'];
    expect(await change(async (tx) => await core.plans.clearTerms(tx, planId, kept))).toEqual([true]);
    expect(
      await change(
        async (tx) => await core.plans.setTerms(tx, planId, { ...terms, dnsNames: ['b.example.com'] }),
      ),
    ).toEqual([false]);
    expect(
      await change(async (tx) => await core.plans.setTerms(tx, planId, { ...terms, dnsNames: [name] })),
    ).toEqual([true]);
    expect(await change(async (tx) => await core.plans.close(tx, planId))).toEqual([false]);
  });

  it('no longer when a name is removed together with the CSR', async () => {
    const integration = await fixture.create('1');
    const { planId, ...plan } = await opened('1', [name, 'b.example.com']);
    await want({ planId, ...plan }, [at(integration), at(integration, 'b.example.com')]);
    const lease = await integrationLease(integration);
    await core.transactions.run(async (tx) => await core.plans.clearTerms(tx, planId, ['b.example.com']));
    const due = await dueAt(lease);
    expect(due.map((each) => [each.record.dnsName, each.needed]).sort()).toEqual([
      ['b.example.com', true],
      [name, false],
    ]);
  });

  it('while another plan names it', async () => {
    const integration = await fixture.create('1');
    const plans = [await opened('1'), await opened('1')];
    for (const plan of plans) await want(plan, [at(integration)]);
    const lease = await integrationLease(integration);
    for (const [left, { planId }] of plans.entries()) {
      await core.transactions.run(async (tx) => await core.plans.close(tx, planId));
      expect(await needed(lease)).toEqual([left === 0]);
    }
  });

  it('no longer when its integration is deleted, even while it is being written', async () => {
    const integration = await fixture.create('1');
    await want(await opened('1'), [at(integration)]);
    const lease = await integrationLease(integration);
    const [due] = await dueAt(lease);
    await fixture.delete('1', integration);
    if (due === undefined) throw new Error('it was due');
    await leased.save(lease, due.record, { state: 'standing', dueAt: null });
    expect(await needed(lease)).toEqual([false]);
  });
});

describe('a request during the decision about a record', () => {
  it('is not lost', async () => {
    const integration = await fixture.create('1');
    const plan = await opened('1');
    await want(plan, [at(integration)]);
    const lease = await integrationLease(integration);
    const [due] = await dueAt(lease);
    if (due === undefined) throw new Error('it was due');
    await want(plan, [at(integration)]);
    await leased.save(lease, due.record, { state: 'unwanted', dueAt: null });
    expect(await rows()).toMatchObject([{ state: 'unwanted', due: true }]);
    // Gone at the provider, but a plan may need it by now.
    await leased.save(lease, due.record, { state: 'removed', recordHandle: null, dueAt: null });
    expect(await rows()).toMatchObject([{ state: 'unwanted', due: true }]);
    const [again] = await dueAt(lease);
    if (again === undefined) throw new Error('it is due again');
    await leased.save(lease, again.record, { state: 'removed', dueAt: null });
    expect(await rows()).toMatchObject([{ state: 'removed' }]);
  });
});

describe('a record that becomes standing or is removed', () => {
  it.each(['standing', 'removed'] as const)('%s: wakes the issuances of its plans', async (state) => {
    const integration = await fixture.create('1');
    const plan = await opened('1');
    await want(plan, [at(integration)]);
    const other = await opened('1');
    await core.database.query(`UPDATE issuance SET due_at = now() + interval '1 hour'`);
    const lease = await integrationLease(integration);
    const [due] = await dueAt(lease);
    if (due === undefined) throw new Error('it was due');
    await takeWakeUps();
    await leased.save(lease, due.record, { state, dueAt: null });
    const soon = await core.database.query(`SELECT id FROM issuance WHERE due_at <= clock_timestamp()`);
    expect(soon).toEqual([{ id: plan.issuanceId }]);
    expect(await takeWakeUps()).toHaveLength(1);
    expect(other.issuanceId).not.toBe(plan.issuanceId);
    await core.database.query(`UPDATE issuance SET due_at = now() + interval '1 hour'`);
    await leased.save(lease, { ...due.record, state }, { state, dueAt: null });
    expect(await takeWakeUps()).toEqual([]);
  });

  it('continues the trace of each request that waited for it, for ten minutes', async () => {
    const integration = await fixture.create('1');
    const minutesAgo = { first: 1, second: 9, old: 11 };
    const { spans, stop } = recordSpans();
    try {
      const opening = async (request: string, minutes: number) => {
        const plan = await inSpan(request, {}, async () => await opened('1'));
        await core.database.query(
          `UPDATE issuance SET opened_at = clock_timestamp() - make_interval(mins => $2) WHERE id = $1`,
          [plan.issuanceId, minutes],
        );
        await want(plan, [at(integration)]);
        return plan.issuanceId;
      };
      const ids: string[] = [];
      for (const [request, minutes] of Object.entries(minutesAgo)) ids.push(await opening(request, minutes));
      await core.database.query(`UPDATE issuance SET due_at = now() + interval '1 hour'`);
      await takeWakeUps();
      await inSpan('job', {}, async () => await stand(await integrationLease(integration)));
      const continued = await core.database.query<{ id: string; traceparent: string }[]>(
        `SELECT payload ->> 'issuanceId' AS id, traceparent FROM outbox`,
      );
      const traces = ids.map((id) => continued.find((row) => row.id === id)?.traceparent);
      const spanOf = (name: string) => spans.find((span) => span.name === name)?.traceparent;
      expect(traces).toEqual([spanOf('first'), spanOf('second'), spanOf('job')]);
    } finally {
      stop();
    }
  });

  it('wakes its issuance again while that issuance is being processed', async () => {
    const integration = await fixture.create('1');
    const plan = await opened('1');
    await want(plan, [at(integration)]);
    const { lease: held } = await leaseOf(plan);
    const lease = await integrationLease(integration);
    await stand(lease);
    await core.leased.save(held, { dueAt: new Date(Date.now() + 3_600_000) }, 'release');
    expect(await core.leased.lease(plan.issuanceId, leaseMs)).not.toBeNull();
  });
});

it('posting an unchanged order retries failing records and leaves standing ones', async () => {
  const integration = await fixture.create('1');
  const plan = await opened('1');
  await want(plan, [at(integration)]);
  const lease = await integrationLease(integration);
  const dueInS = async () => {
    const [row] = await core.database.query<[{ due: number | null }]>(
      `SELECT extract(epoch FROM due_at - clock_timestamp())::float AS due FROM approval_record`,
    );
    return row.due;
  };
  const wake = async () =>
    await core.transactions.run(async (tx) => await core.wakeUps.wakePlan(tx, plan.planId));
  const state = async (also: string) => await core.database.query(`UPDATE approval_record SET ${also}`);
  await state(`failures = 3, due_at = now() + interval '1 hour'`);
  await wake();
  expect(await dueInS()).toBeGreaterThan(25);
  expect(await dueInS()).toBeLessThanOrEqual(30);
  await state(`failures = 0, stopped_at = now(), due_at = NULL`);
  await wake();
  expect(await dueInS()).toBeLessThanOrEqual(0);
  await stand(lease);
  await wake();
  expect(await dueInS()).toBeNull();
});

it('a doubt makes a standing record due', async () => {
  const integration = await fixture.create('1');
  await want(await opened('1'), [at(integration)]);
  const lease = await integrationLease(integration);
  const [due] = await dueAt(lease);
  await stand(lease);
  await records.doubt(due?.record.id ?? '');
  expect(await rows()).toMatchObject([{ state: 'standing', due: true }]);
});

it('zones are listed again after more than a minute', async () => {
  const fresh = await fixture.create('1', []);
  const stale = await fixture.create('1', []);
  const foreign = await fixture.create('2', []);
  await core.database.query(
    `UPDATE dns_integration SET checked_at = now() - interval '61 seconds' WHERE id = ANY ($1::bigint[])`,
    [[stale, foreign]],
  );
  await takeWakeUps();
  await records.requestZones('1');
  expect(await takeWakeUps()).toEqual([{ job_id: `keep-integration-${stale}-0` }]);
  expect((await integrations.due(10)).map(({ id }) => id)).toEqual([stale]);
  expect(fresh).not.toBe(stale);
});

it('removed records are reported for a month, then deleted', async () => {
  const integration = await fixture.create('1');
  for (const dnsName of ['old.example.com', 'new.example.com']) {
    await fixture.record(integration, { dnsName, state: 'removed', dueInS: null });
  }
  await core.database.query(
    `UPDATE approval_record SET removed_at = now() - interval '31 days' WHERE dns_name = 'old.example.com'`,
  );
  expect(await records.forgetRemoved(10)).toBe(1);
  expect(await rows()).toMatchObject([{ dns_name: 'new.example.com' }]);
});

it('the backlog reports how long the oldest record has been due, and which integrations fail', async () => {
  expect(await records.backlog()).toEqual({ oldestDueS: 0, failingIntegrations: 0 });
  const integration = await fixture.create('1');
  await fixture.record(integration, { dnsName: name, dueInS: -100 });
  await core.database.query(`UPDATE dns_integration SET state = 'failing'`);
  const backlog = await records.backlog();
  expect(backlog.failingIntegrations).toBe(1);
  expect(backlog.oldestDueS).toBeGreaterThanOrEqual(100);
});
