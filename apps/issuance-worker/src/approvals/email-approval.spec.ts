import { createHash, randomBytes } from 'node:crypto';
import { ApprovalRecords, Delegations, EmailApprovals, IssuanceWakeUps } from '@certwright/approvals';
import { Attachments, Issuances, LeasedIssuances, Plans } from '@certwright/ordering';
import { coreDataSource, Outbox, Transactions } from '@certwright/core-schema';
import { Mails } from '@certwright/delivery';
import { testDatabase } from '@certwright/testing';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { DataSource } from 'typeorm';
import { openBuiltInCa } from '../testing/built-in-ca';
import { KeyFiles } from '../certificate-authorities/built-in/keys/key-files';
import { AdvanceIssuance } from '../issuance/advance-issuance';
import { openIssuance, opensslCsr, type Repositories } from '../testing/opened-issuance';
import { soleIssuer } from '../testing/sole-issuer';
import { EmailApprover } from './email-approver';
import { PublishApprovals } from './publish-approvals';

const dnsNames = ['a.example.com', '*.a.example.com'];
const approverEmails = { 'a.example.com': 'admin@example.com', '*.a.example.com': 'webmaster@example.com' };
const reuseMs = 200 * 86_400_000;

let database: DataSource;
let asWorker: DataSource;
let repositories: Repositories;
let approvals: EmailApprovals;
let worker: AdvanceIssuance;
const undo: (() => unknown)[] = [];

const workersApprovals = () =>
  new EmailApprovals(
    asWorker,
    new Transactions(asWorker),
    new Mails(asWorker),
    new IssuanceWakeUps(asWorker, new Outbox(asWorker)),
  );

beforeAll(async () => {
  const test = await testDatabase();
  undo.push(test.dispose);
  const settings = { applicationName: 'spec', poolSize: 10, statementTimeoutMs: 10_000 };
  database = await coreDataSource({ url: test.url, ...settings }).initialize();
  asWorker = await coreDataSource({ url: test.urlOf('issuance-worker'), ...settings }).initialize();
  undo.push(async () => await Promise.all([database.destroy(), asWorker.destroy()]));
  const transactions = new Transactions(database);
  const issuances = new Issuances(database, new Outbox(database));
  repositories = { transactions, issuances, plans: new Plans(), delegations: new Delegations(database) };
  approvals = new EmailApprovals(
    database,
    transactions,
    new Mails(database),
    new IssuanceWakeUps(database, new Outbox(database)),
  );
  const keys = mkdtempSync(path.join(tmpdir(), 'certwright-ca-'));
  undo.push(() => rmSync(keys, { recursive: true }));
  const { ca } = await openBuiltInCa({ owner: database, worker: asWorker, keys: new KeyFiles(keys) });
  let nextCertificateId = 1;
  worker = new AdvanceIssuance({
    leasedIssuances: new LeasedIssuances(asWorker),
    attachments: new Attachments(new Transactions(asWorker)),
    approvers: [new EmailApprover(workersApprovals(), reuseMs)],
    publishing: new PublishApprovals(
      new ApprovalRecords(asWorker, new Transactions(asWorker)),
      'unused',
      false,
    ),
    approvalReuseMs: reuseMs,
    issuers: soleIssuer(ca),
    events: {
      changed: () => undefined,
      attached: () => undefined,
      failed: () => undefined,
      resting: () => undefined,
      leaseLost: () => undefined,
      unexpectedError: (_, error) => fail(error),
    },
    certificateId: () => String(nextCertificateId++),
  });
}, 30_000);

afterAll(async () => {
  for (const step of undo.reverse()) await step();
});

function fail(error: unknown): never {
  throw error;
}

/** An order whose names are to be approved by email. */
async function open(product: string): Promise<{ planId: string; issuanceId: string }> {
  const csr = opensslCsr(dnsNames);
  const { planId } = await openIssuance(repositories, dnsNames, csr);
  const [{ spki_sha256: spkiSha256, account_id: accountId }] = await database.query<
    [{ spki_sha256: Buffer; account_id: string }]
  >(`SELECT spki_sha256, account_id FROM terms JOIN plan ON plan.id = plan_id WHERE plan_id = $1`, [planId]);
  return await repositories.transactions.run(async (tx) => {
    const terms = { product, dnsNames, keyType: 'ecdsa', csr, spkiSha256, approverEmails } as const;
    const termsId = await repositories.plans.setTerms(tx, planId, terms);
    const request = { planId, accountId, revision: 2, termsId, dnsNames, settlingMs: 0 };
    return { planId, issuanceId: await repositories.issuances.open(tx, request) };
  });
}

/** The mailboxes of an order: each follows its link and presses the button. */
async function approve(planId: string, dnsName: string): Promise<void> {
  const requested = (await approvals.ofPlan(planId)).find((mailbox) => mailbox.dnsName === dnsName);
  const sha256 = createHash('sha256').update(randomBytes(32)).digest();
  await approvals.issueToken(requested?.approvalId ?? '', sha256);
  expect(await approvals.approve(sha256)).toMatchObject({ state: 'approved' });
}

const recipients = async () =>
  (await database.query<{ recipient: string }[]>(`SELECT recipient FROM mail ORDER BY recipient`)).map(
    ({ recipient }) => recipient,
  );
const stateOf = async (issuanceId: string) =>
  (
    await database.query<[{ state: string; methods: string[] }]>(
      `SELECT state, jsonb_path_query_array(approvals, '$[*].method') AS methods FROM issuance WHERE id = $1`,
      [issuanceId],
    )
  )[0];
/** Makes everything that waits due: the test moves the time instead of waiting. */
const passTime = async () =>
  await database.query(
    `UPDATE issuance SET due_at = now(), opened_at = opened_at - interval '2 s' WHERE state = 'open'`,
  );

describe('an order that names approvers', () => {
  it('sends no mail when the product does not support approval by email', async () => {
    const { planId, issuanceId } = await open('free_ca');
    await worker.run(issuanceId);
    expect(await recipients()).toEqual([]);
    expect(await approvals.ofPlan(planId)).toEqual([]);
    expect((await stateOf(issuanceId)).state).toBe('open');
  });

  it('sends each one mail, and is issued when all have approved', async () => {
    const { planId, issuanceId } = await open('paid_ca');
    await worker.run(issuanceId);
    await passTime();
    await worker.run(issuanceId);
    expect(await recipients()).toEqual(['admin@example.com', 'webmaster@example.com']);
    await approve(planId, 'a.example.com');
    await passTime();
    await worker.run(issuanceId);
    expect(await stateOf(issuanceId)).toEqual({ state: 'open', methods: ['email', null] });
    await approve(planId, '*.a.example.com');
    await worker.run(issuanceId);
    expect(await stateOf(issuanceId)).toEqual({ state: 'issued', methods: ['email', 'email'] });
  });
});
