import { Installations } from '@certwright/accounts';
import { createHash, randomBytes } from 'node:crypto';
import { MailSubjects } from './mail-subjects';
import { Mails } from '@certwright/delivery';
import { CoreDatabaseFixture } from '@certwright/core-testing';
import { byDns, byEmail, type PlanWithWays, planWithWays, sayOtherwise } from '@certwright/core-testing';
import { EmailApprovals } from '@certwright/approvals';

const accountId = '1000000000001';
const dnsName = 'www.example.com';
const address = 'admin@example.com';
const other = 'webmaster@example.com';

let core: CoreDatabaseFixture;
let approvals: EmailApprovals;
let subjects: MailSubjects;

beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  const { database, transactions, wakeUps } = core;
  approvals = new EmailApprovals(database, transactions, new Mails(database), wakeUps);
  subjects = new MailSubjects(database, new Installations(database));
  await core.account(accountId);
});
afterAll(async () => await core.close());

/** A link about a plan that was sent to the address. */
async function requested({ planId }: PlanWithWays, to = address) {
  await approvals.request({ accountId, planId, dnsName, address: to }, new Date(0));
  const box = (await approvals.ofPlan(planId)).find((mailbox) => mailbox.address === to);
  const approvalId = box?.approvalId ?? '';
  const sha256 = createHash('sha256').update(randomBytes(32)).digest();
  await approvals.issueToken(approvalId, sha256);
  return { sha256, approvalId };
}

/** What the link shows, and whether its mail would still be sent: always equal. */
async function stateOf({
  sha256,
  approvalId,
}: Awaited<ReturnType<typeof requested>>): Promise<string | undefined> {
  const finding = await approvals.lookUp(sha256);
  const subject = await subjects.approval(approvalId);
  expect(subject !== null).toBe(finding?.state === 'open');
  return finding?.state;
}

async function redo({ planId, termsId }: PlanWithWays, to: string): Promise<void> {
  await core.transactions.run(
    async (tx) => await core.issuances.redoApprovals(tx, planId, { [dnsName]: byEmail(to) }, termsId),
  );
}

const cancel = async ({ planId }: PlanWithWays) =>
  await core.transactions.run(async (tx) => await core.issuances.closeOpen(tx, planId, 'canceled'));

describe('a mailbox in the approval method of a name', () => {
  it('approves it, even if the address is set nowhere else', async () => {
    const plan = await planWithWays(core, accountId, { [dnsName]: byEmail(address) });
    const link = await requested(plan);
    expect(await stateOf(link)).toBe('open');
    expect(await approvals.approve(link.sha256)).toMatchObject({ state: 'approved', request: { dnsName } });
    const box = { accountId, planId: plan.planId, dnsName, address };
    expect((await approvals.request(box, new Date(0))).kind).toBe('approved');
  });

  it('approves the purchased certificate, not what is requested next, and nothing once it is closed', async () => {
    const plan = await planWithWays(core, accountId, { [dnsName]: byEmail(address) });
    const link = await requested(plan);
    const next = { dnsNames: ['b.example.com', dnsName], spkiSha256: randomBytes(32), product: 'free_ca' };
    await sayOtherwise(core, plan, { [dnsName]: byDns }, next);
    expect(await stateOf(link)).toBe('open');
    expect(await approvals.lookUp(link.sha256)).toMatchObject({
      request: { product: 'paid_ca', spkiSha256: plan.certified.spkiSha256 },
    });
    expect(await subjects.approval(link.approvalId)).toMatchObject({ dnsNames: [dnsName] });
    await cancel(plan);
    expect(await stateOf(link)).toBe('withdrawn');
    expect(await approvals.approve(link.sha256)).toEqual({ state: 'withdrawn' });
  });

  it('no longer approves once another address replaces it', async () => {
    const plan = await planWithWays(core, accountId, { [dnsName]: byEmail(address) });
    const link = await requested(plan);
    const ways = { [dnsName]: byEmail(other) };
    await sayOtherwise(core, plan, ways, { dnsNames: [dnsName] });
    await redo(plan, other);
    expect(await stateOf(link)).toBe('withdrawn');
    expect(await stateOf(await requested(plan, other))).toBe('open');
  });

  it('approves without an open issuance while the terms list it, unlike addresses for emails', async () => {
    const plan = await planWithWays(core, accountId, { [dnsName]: byEmail(address) });
    const link = await requested(plan);
    await cancel(plan);
    expect(await stateOf(link)).toBe('open');
    const approverEmails = { [dnsName]: address };
    await sayOtherwise(core, plan, { [dnsName]: byDns }, { dnsNames: [dnsName], approverEmails });
    expect(await stateOf(link)).toBe('withdrawn');
    await sayOtherwise(core, plan, null, { dnsNames: [dnsName], approverEmails });
    expect(await stateOf(link)).toBe('open');
  });

  it('sees the tenant’s name for it: the common name', async () => {
    const plan = await planWithWays(core, accountId, { [dnsName]: byEmail(address) });
    const link = await requested(plan);
    await core.database.query(
      `INSERT INTO cert_object_v2 (plan_id, account_id, cn, type, approval_method, csr, spki_sha256, key_type)
       VALUES ($1, $2, 'example.com', 'dv', 'dns', '\\x00', '\\x00', 'ecdsa')`,
      [plan.planId, accountId],
    );
    expect(await approvals.lookUp(link.sha256)).toMatchObject({ request: { orderName: 'example.com' } });
    expect(await subjects.approval(link.approvalId)).toMatchObject({ objectName: 'example.com' });
  });
});
