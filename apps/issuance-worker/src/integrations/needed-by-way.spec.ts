import type { ApprovalWay } from '@certwright/issuance';
import { DnsIntegrations } from '@certwright/dns-integrations';
import { LeasedIntegrations } from '@certwright/dns-integrations';
import { CoreDatabaseFixture } from '@certwright/core-testing';
import { integrationFixture, type IntegrationFixture } from '@certwright/core-testing';
import {
  byDns,
  byEmail,
  byHttp,
  type PlanWithWays,
  planWithWays,
  sayOtherwise,
} from '@certwright/core-testing';
import { LeasedRecords } from './leased-records';

const accountId = '1';
const name = 'www.example.com';
const wildcard = `*.${name}`;
const mail = byEmail('admin@example.com');

let core: CoreDatabaseFixture;
let fixture: IntegrationFixture;

beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  fixture = integrationFixture(core, new DnsIntegrations(core.database, core.transactions));
  await core.account(accountId);
});
afterAll(async () => await core.close());
beforeEach(async () => {
  await core.database.query(`DELETE FROM approval_record_use`);
  await fixture.clear();
});

/** A plan that uses a standing record of the name, and its integration. */
async function using(ways: Readonly<Record<string, ApprovalWay>>) {
  const integrationId = await fixture.create(accountId);
  const plan = await planWithWays(core, accountId, ways);
  await fixture.record(integrationId, { dnsName: name, state: 'standing', dueInS: null });
  await core.database.query(`INSERT INTO approval_record_use SELECT id, $1 FROM approval_record`, [
    plan.planId,
  ]);
  const { database, transactions, wakeUps } = core;
  const held = await new LeasedIntegrations(database, transactions).lease(integrationId, 60_000);
  if (held === null) throw new Error('the integration is free');
  const leased = new LeasedRecords(database, transactions, wakeUps);
  /** Undefined: never requested. */
  const needed = async (): Promise<boolean | undefined> => {
    const [due] = await leased.due(held.lease, 10);
    return due?.needed;
  };
  return { plan, needed };
}

const close = async ({ planId }: PlanWithWays) =>
  await core.transactions.run(async (tx) => await core.issuances.closeOpen(tx, planId, 'canceled'));

describe('a record is needed', () => {
  it.each<[boolean, string, Readonly<Record<string, ApprovalWay>>]>([
    [true, 'whose way is dns', { [name]: byDns }],
    [true, 'whose wildcard alone is approved by dns', { [name]: mail, [wildcard]: byDns }],
    [false, 'whose way is email', { [name]: mail }],
    [
      false,
      'whose way is http, and whose wildcard is approved by email',
      { [name]: byHttp, [wildcard]: mail },
    ],
    [true, 'without a way beside others that have one', { 'b.example.com': mail }],
  ])('%s: by a name %s', async (isNeeded, _, ways) => {
    const { plan, needed } = await using({ 'b.example.com': byDns });
    await close(plan);
    await sayOtherwise(core, plan, ways, {
      dnsNames: [name, wildcard].filter((each) => each in ways || isNeeded),
    });
    expect(await needed()).toBe(isNeeded);
  });

  it('by the issuance in progress, even if the newest terms use another method, until it is replaced', async () => {
    const { plan, needed } = await using({ [name]: byDns });
    expect(await needed()).toBeUndefined();
    const ways = { [name]: mail };
    const termsId = await sayOtherwise(core, plan, ways, { dnsNames: [name] });
    expect(await needed()).toBe(true);
    await core.database.query(`UPDATE approval_record SET due_at = NULL`);
    const { planId } = plan;
    const opening = { planId, accountId, termsId, revision: 2, dnsNames: [name], settlingMs: 0 };
    await core.transactions.run(
      async (tx) => await core.issuances.open(tx, { ...opening, approvalWays: ways }),
    );
    expect(await needed()).toBe(false);
  });

  it('no longer once the open issuance is approved by another method', async () => {
    const { plan, needed } = await using({ [name]: byDns });
    const ways = { [name]: mail };
    const termsId = await sayOtherwise(core, plan, ways, { dnsNames: [name] });
    await core.transactions.run(
      async (tx) => await core.issuances.redoApprovals(tx, plan.planId, ways, termsId),
    );
    expect(await needed()).toBe(false);
  });
});
