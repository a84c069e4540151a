import { createHash, randomBytes } from 'node:crypto';
import { Mails } from '@certwright/delivery';
import { CoreDatabaseFixture } from '@certwright/core-testing';
import { EmailApprovals, type Mailbox } from './email-approvals';

const accountId = '1000000000001';
const longAgo = new Date(0);

let core: CoreDatabaseFixture;
let approvals: EmailApprovals;

beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  approvals = new EmailApprovals(core.database, core.transactions, new Mails(core.database), core.wakeUps);
  await core.account(accountId);
});
afterAll(async () => await core.close());

const run = async <T>(statement: string, ...values: unknown[]): Promise<T> =>
  await core.database.query<T>(statement, values);

/** A plan whose terms have an approver for each name. */
async function plan(
  approverEmails: Record<string, string>,
  account = accountId,
): Promise<{ planId: string; issuanceId: string }> {
  const dnsNames = Object.keys(approverEmails);
  return await core.transactions.run(async (tx) => {
    const downloadToken = randomBytes(20).toString('base64url');
    const planId = await core.plans.create(tx, {
      accountId: account,
      downloadToken,
      autoRenew: true,
      muted: false,
      paused: false,
    });
    const key = { keyType: 'ecdsa', csr: randomBytes(8), spkiSha256: randomBytes(32) } as const;
    const termsId = await core.plans.setTerms(tx, planId, {
      product: 'paid_ca',
      dnsNames,
      approverEmails,
      ...key,
    });
    const issuanceId = await core.issuances.open(tx, {
      planId,
      accountId: account,
      revision: 1,
      termsId,
      dnsNames,
      settlingMs: 0,
    });
    return { planId, issuanceId };
  });
}

let boxes = 0;
/** A name of a plan of its own, with a mailbox that has received no mail. */
async function mailbox(
  address = `admin@n${++boxes}.example.com`,
  account = accountId,
): Promise<Mailbox & { issuanceId: string }> {
  const dnsName = `n${boxes}.example.com`;
  const { planId, issuanceId } = await plan({ [dnsName]: address }, account);
  return { accountId: account, planId, dnsName, address, issuanceId };
}

const mailsTo = async ({ address }: Mailbox) =>
  await run<{ kind: string; facts: object; state: string; job: string | null }[]>(
    `SELECT kind, facts, state, (SELECT job FROM outbox WHERE payload ->> 'mailId' = mail.id::text) AS job
     FROM mail WHERE recipient = $1 ORDER BY id`,
    address,
  );

const ageAsking = async ({ planId }: Mailbox, interval: string) => {
  await run(
    `UPDATE email_approval SET asked_at = asked_at - $2::interval WHERE plan_id = $1`,
    planId,
    interval,
  );
};

const requestMailsAgain = async ({ planId }: Mailbox) =>
  await core.transactions.run(async (tx) => await core.wakeUps.wakePlan(tx, planId));

const digest = (token: string) => createHash('sha256').update(token).digest();

/** The link of a mail that was sent: its digest. */
async function link(box: Mailbox): Promise<Buffer> {
  await approvals.request(box, longAgo);
  const requested = (await approvals.ofPlan(box.planId)).find(({ dnsName }) => dnsName === box.dnsName);
  const sha256 = digest(randomBytes(32).toString('base64url'));
  await approvals.issueToken(requested?.approvalId ?? '', sha256);
  return sha256;
}

describe('a request to a mailbox', () => {
  it('orders one mail with its wake-up, however often it is repeated, and never stores a token with it', async () => {
    const box = await mailbox();
    const requested = await Promise.all([1, 2, 3].map(async () => await approvals.request(box, longAgo)));
    expect(requested.map(({ kind }) => kind)).toEqual(['requested', 'requested', 'requested']);
    const [state] = await approvals.ofPlan(box.planId);
    expect(state).toMatchObject({ dnsName: box.dnsName, address: box.address, approvedAt: null });
    expect(await mailsTo(box)).toEqual([
      {
        kind: 'approval-request',
        facts: { approvalId: state?.approvalId },
        state: 'pending',
        job: 'send-mail',
      },
    ]);
  });

  it('orders another one when the caller requested it, ten minutes after the last at the earliest', async () => {
    const box = await mailbox();
    await approvals.request(box, longAgo);
    await requestMailsAgain(box);
    await approvals.request(box, longAgo);
    expect(await mailsTo(box)).toHaveLength(1);
    await ageAsking(box, '11 min');
    await approvals.request(box, longAgo);
    expect(await mailsTo(box)).toHaveLength(1);
    await requestMailsAgain(box);
    await approvals.request(box, longAgo);
    await approvals.request(box, longAgo);
    expect(await mailsTo(box)).toHaveLength(2);
  });

  it('orders another one when the last was canceled, after ten minutes, once the account is enabled', async () => {
    const box = await mailbox();
    await approvals.request(box, longAgo);
    await run(`UPDATE mail SET state = 'canceled', finished_at = now() WHERE recipient = $1`, box.address);
    await approvals.request(box, longAgo);
    expect(await mailsTo(box)).toHaveLength(1);
    await ageAsking(box, '11 min');
    await run(`UPDATE account SET disabled_at = now() WHERE id = $1`, accountId);
    await approvals.request(box, longAgo);
    expect(await mailsTo(box)).toHaveLength(1);
    await run(`UPDATE account SET disabled_at = NULL WHERE id = $1`, accountId);
    await approvals.request(box, longAgo);
    await approvals.request(box, longAgo);
    expect((await mailsTo(box)).map(({ state }) => state)).toEqual(['canceled', 'pending']);
  });

  it('orders at most five mails per day and address over all accounts', async () => {
    const address = 'hostmaster@busy.example.com';
    const other = await core.account('1000000000009');
    for (let count = 0; count < 5; count += 1) {
      await approvals.request(await mailbox(address, count % 2 === 0 ? accountId : other), longAgo);
    }
    const sixth = await mailbox(address);
    const refused = await approvals.request(sixth, longAgo);
    expect(refused.kind).toBe('throttled');
    expect(await mailsTo(sixth)).toHaveLength(5);
    await run(`UPDATE mail SET created_at = created_at - interval '1 day' WHERE recipient = $1`, address);
    expect((await approvals.request(sixth, longAgo)).kind).toBe('requested');
  });

  it('orders at most five mails when many names request one at once', async () => {
    const address = 'admin@crowd.example.com';
    const crowd = await Promise.all(Array.from({ length: 9 }, async () => await mailbox(address)));
    const requested = await Promise.all(crowd.map(async (box) => await approvals.request(box, longAgo)));
    expect(requested.filter(({ kind }) => kind === 'requested')).toHaveLength(5);
  });

  it('reports that the mail could not be delivered', async () => {
    const box = await mailbox();
    await approvals.request(box, longAgo);
    await run(`UPDATE mail SET state = 'failed', finished_at = now() WHERE recipient = $1`, box.address);
    expect(await approvals.request(box, longAgo)).toMatchObject({ kind: 'requested', undeliverable: true });
  });

  it('requests approval again when the approval has expired', async () => {
    const box = await mailbox();
    await approvals.approve(await link(box));
    const [approved] = await approvals.ofPlan(box.planId);
    const at = approved?.approvedAt ?? longAgo;
    expect(await approvals.request(box, at)).toEqual({ kind: 'approved', at });
    expect(await approvals.request(box, new Date(at.getTime() + 1))).toMatchObject({ kind: 'requested' });
    expect(await mailsTo(box)).toHaveLength(2);
  });
});

describe('a link', () => {
  it('shows the request for approval without changing it', async () => {
    const box = await mailbox();
    const sha256 = await link(box);
    for (let look = 0; look < 2; look += 1) {
      expect(await approvals.lookUp(sha256)).toMatchObject({
        state: 'open',
        request: {
          dnsName: box.dnsName,
          address: box.address,
          accountName: 'Spec',
          product: 'paid_ca',
          planId: box.planId,
        },
      });
    }
    expect((await approvals.ofPlan(box.planId))[0]?.approvedAt).toBeNull();
  });

  it('approves once, even when it is used twice at the same time', async () => {
    const sha256 = await link(await mailbox());
    const outcomes = await Promise.all([approvals.approve(sha256), approvals.approve(sha256)]);
    expect(outcomes.map((outcome) => outcome?.state).sort()).toEqual(['approved', 'used']);
    expect(await approvals.lookUp(sha256)).toEqual({ state: 'used' });
  });

  it('uses up the other links of the same approval', async () => {
    const box = await mailbox();
    const [first, second] = [await link(box), await link(box)];
    await approvals.approve(second);
    expect(await approvals.approve(first)).toEqual({ state: 'used' });
  });

  it('approves only its own name', async () => {
    const address = 'admin@example.org';
    const { planId } = await plan({ 'a.example.org': address, 'b.example.org': address });
    const a = { accountId, planId, dnsName: 'a.example.org', address };
    const b = { ...a, dnsName: 'b.example.org' };
    await approvals.request(b, longAgo);
    await approvals.approve(await link(a));
    expect((await approvals.request(a, longAgo)).kind).toBe('approved');
    expect((await approvals.request(b, longAgo)).kind).toBe('requested');
  });

  it('expires after 30 days, is remembered for a while, and then unknown', async () => {
    const sha256 = await link(await mailbox());
    const age = async (interval: string) =>
      await run(
        `UPDATE email_approval_token SET expires_at = expires_at - $2::interval WHERE sha256 = $1`,
        sha256,
        interval,
      );
    await age('30 days');
    expect(await approvals.approve(sha256)).toEqual({ state: 'expired' });
    await approvals.forgetExpired();
    expect(await approvals.lookUp(sha256)).toEqual({ state: 'expired' });
    await age('31 days');
    await approvals.forgetExpired();
    expect(await approvals.lookUp(sha256)).toBeNull();
    expect(await approvals.approve(sha256)).toBeNull();
  });

  it.each<[string, (box: Mailbox) => Promise<unknown>]>([
    [
      'is deleted',
      async ({ planId }) => await run(`UPDATE plan SET closed_at = now() WHERE id = $1`, planId),
    ],
    [
      'names another address',
      async ({ planId, dnsName }) => {
        const terms = {
          product: 'paid_ca',
          dnsNames: [dnsName],
          approverEmails: { [dnsName]: 'other@example.com' },
        };
        const key = { keyType: 'ecdsa', csr: randomBytes(8), spkiSha256: randomBytes(32) } as const;
        await core.transactions.run(
          async (tx) => await core.plans.setTerms(tx, planId, { ...terms, ...key }),
        );
      },
    ],
  ])('does not approve once the order %s', async (_, change) => {
    const box = await mailbox();
    const sha256 = await link(box);
    await change(box);
    expect(await approvals.lookUp(sha256)).toEqual({ state: 'withdrawn' });
    expect(await approvals.approve(sha256)).toEqual({ state: 'withdrawn' });
    expect((await approvals.ofPlan(box.planId))[0]?.approvedAt).toBeNull();
  });
});

describe('an approval and the issuance that waits for it', () => {
  const postpone = async (issuanceId: string) =>
    await run(
      `UPDATE issuance SET due_at = now() + interval '1 h', opened_at = now() - interval '1 h' WHERE id = $1`,
      issuanceId,
    );
  const isDue = async (issuanceId: string) =>
    (await core.leased.due(1_000)).some(({ id }) => id === issuanceId);

  it('is due now instead of at its next due time', async () => {
    const box = await mailbox();
    const sha256 = await link(box);
    await postpone(box.issuanceId);
    expect(await isDue(box.issuanceId)).toBe(false);
    await approvals.approve(sha256);
    expect(await isDue(box.issuanceId)).toBe(true);
  });

  it('is attempted again when it was being attempted at that moment', async () => {
    const box = await mailbox();
    const sha256 = await link(box);
    await run(`UPDATE issuance SET opened_at = now() - interval '1 h' WHERE id = $1`, box.issuanceId);
    const work = await core.leased.lease(box.issuanceId, 15_000);
    if (work === null) throw new Error('the issuance is due');
    await approvals.approve(sha256);
    await core.leased.save(work.lease, { dueAt: new Date(Date.now() + 3_600_000) }, 'release');
    expect(await isDue(box.issuanceId)).toBe(true);
  });

  it('is attempted again when the attempt in progress has failed meanwhile', async () => {
    const box = await mailbox();
    const sha256 = await link(box);
    await run(`UPDATE issuance SET opened_at = now() - interval '1 h' WHERE id = $1`, box.issuanceId);
    const work = await core.leased.lease(box.issuanceId, 15_000);
    if (work === null) throw new Error('the issuance is due');
    await approvals.approve(sha256);
    await core.leased.save(work.lease, { failures: 1, dueAt: new Date(Date.now() + 60_000) }, 'release');
    expect(await isDue(box.issuanceId)).toBe(true);
  });
});

/** Rows as changed by following a link, without the values that differ between rows. */
async function followed(box: Mailbox & { issuanceId: string }) {
  const sha256 = await link(box);
  await run(
    `UPDATE issuance SET due_at = now() + interval '1 h', opened_at = now() - interval '1 h' WHERE id = $1`,
    box.issuanceId,
  );
  await run(`DELETE FROM outbox`);
  const found = [
    await approvals.lookUp(sha256),
    await approvals.approve(sha256),
    await approvals.approve(sha256),
  ];
  const unknown = await approvals.approve(randomBytes(32));
  const [issuance] = await run<[object]>(
    `SELECT due_at <= now() AS due, hastened, lease_token FROM issuance WHERE id = $1`, // language: column
    box.issuanceId,
  );
  const wakeUps = await run(`SELECT job, job_id, payload FROM outbox`);
  const [approval] = await run<[object]>(
    `SELECT approved_at IS NOT NULL AS approved, asked_again,
       (SELECT count(*)::int FROM email_approval_token WHERE approval_id = approval.id AND used_at IS NULL) AS unused
     FROM email_approval AS approval WHERE plan_id = $1`,
    box.planId,
  );
  const ownId = new RegExp(`(?<!\\d)${box.issuanceId}(?!\\d)`, 'g');
  const withoutIds = (key: string, value: unknown): unknown => {
    if (key === 'planId' || key === 'approvalId') return 'ID';
    if (key === 'data') return 'BYTES';
    return typeof value === 'string'
      ? value.replaceAll(ownId, 'ISSUANCE').replaceAll(box.dnsName, 'NAME')
      : value;
  };
  return JSON.parse(JSON.stringify({ found, unknown, issuance, wakeUps, approval }, withoutIds)) as object;
}

it('a link does the same in a database without the functions of this release', async () => {
  const byFunction = await followed(await mailbox());
  await run(`DROP FUNCTION approve_link`);
  await run(`DROP FUNCTION approval_link`);
  expect(await followed(await mailbox())).toEqual(byFunction);
  expect(byFunction).toMatchObject({
    found: [{ state: 'open' }, { state: 'approved' }, { state: 'used' }],
    unknown: null,
    issuance: { due: true },
    wakeUps: [{ job: 'advance-issuance', payload: { issuanceId: 'ISSUANCE' } }],
    approval: { approved: true, unused: 0 },
  });
});
