import { Mails } from '@certwright/delivery';
import { attachedCertificate, attachOpen, validity } from '@certwright/core-testing';
import { CoreDatabaseFixture } from '@certwright/core-testing';
import { ExpirationNotices } from './expiration-notices';

const dayMs = 86_400_000;
const now = new Date();
const daysOn = (days: number) => new Date(now.getTime() + days * dayMs);

let core: CoreDatabaseFixture;
let notices: ExpirationNotices;
let nextAccount = 1_000_000_000_000;

beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  notices = new ExpirationNotices(core.transactions, new Mails(core.database));
});
afterAll(async () => await core.close());
afterEach(async () => await core.database.query(`UPDATE plan SET closed_at = now() WHERE closed_at IS NULL`));

/** A separate account with one certificate that expires in the given number of days. */
async function certificate(leftDays: number, lifetimeDays = 90, email: string | null = 'ops@example.com') {
  const accountId = await core.account(String((nextAccount += 1)));
  await core.database.query(`UPDATE account SET contact_email = $2 WHERE id = $1`, [accountId, email]);
  const attached = await attachedCertificate(
    core,
    accountId,
    validity(leftDays - lifetimeDays, leftDays, now),
  );
  return { ...attached, accountId };
}

interface MailRow {
  readonly kind: string;
  readonly recipient: string;
  readonly facts: { readonly certificateId: string; readonly thresholdDays: number };
}
const mailsTo = async (accountId: string): Promise<MailRow[]> =>
  await core.database.query(`SELECT kind, recipient, facts FROM mail WHERE account_id = $1 ORDER BY id`, [
    accountId,
  ]);
const mailedDays = async (accountId: string) =>
  (await mailsTo(accountId)).map(({ facts }) => facts.thresholdDays);
const noticedDays = async (certificateId: string) => {
  const rows: { days: number }[] = await core.database.query(
    `SELECT threshold_days AS days FROM expiration_notice WHERE certificate_id = $1 ORDER BY 1 DESC`,
    [certificateId],
  );
  return rows.map(({ days }) => days);
};

describe('expiration notices', () => {
  it('are mailed 30, 14, 7, 3 and 1 days before the current certificate expires, once each', async () => {
    const { accountId, certificateId } = await certificate(40);
    for (let day = 0; day <= 41; day += 0.5) await notices.writeDue(10, daysOn(day));
    expect(await mailedDays(accountId)).toEqual([30, 14, 7, 3, 1]);
    expect((await mailsTo(accountId))[0]).toEqual({
      kind: 'expiration-notice',
      recipient: 'ops@example.com',
      facts: { certificateId, thresholdDays: 30 },
    });
  });

  it('are written with the wake-up that sends them, in one transaction', async () => {
    const { accountId } = await certificate(20);
    await notices.writeDue(10);
    const wakeUps: { count: number }[] = await core.database.query(
      `SELECT count(*)::int AS count FROM outbox JOIN mail ON outbox.job_id = 'send-mail-' || mail.id || '-0'
       WHERE mail.account_id = $1`,
      [accountId],
    );
    expect(wakeUps).toEqual([{ count: 1 }]);
  });

  it('are one mail for the nearest threshold when several passed between two rounds', async () => {
    const { accountId, certificateId } = await certificate(5);
    expect(await notices.writeDue(10)).toEqual({ found: 1, mailed: 1 });
    expect(await notices.writeDue(10)).toEqual({ found: 0, mailed: 0 });
    expect(await mailedDays(accountId)).toEqual([7]);
    expect(await noticedDays(certificateId)).toEqual([30, 14, 7]);
  });

  it('are written once by any number of processes', async () => {
    const accounts = await Promise.all(Array.from({ length: 12 }, async () => await certificate(10)));
    await Promise.all(Array.from({ length: 8 }, async () => await notices.writeDue(5)));
    await notices.writeDue(100);
    for (const { accountId } of accounts) expect(await mailedDays(accountId)).toEqual([14]);
  });

  it.each([
    ['is muted', `UPDATE plan SET muted = true WHERE id = $1`],
    ['is closed', `UPDATE plan SET closed_at = now() WHERE id = $1`],
    ['has its certificate revoked', `UPDATE certificate SET revoked_at = now() WHERE plan_id = $1`],
    ['has another certificate', `UPDATE certificate SET is_current = false WHERE plan_id = $1`],
  ])('are not mailed when the plan %s', async (_, statement) => {
    const { planId, accountId } = await certificate(10);
    await core.database.query(statement, [planId]);
    await notices.writeDue(10);
    expect(await mailsTo(accountId)).toEqual([]);
  });

  it('are not mailed for a replaced certificate, but later for its replacement', async () => {
    const { planId, accountId } = await certificate(32);
    const [{ terms_id: termsId }] = await core.database.query<[{ terms_id: string }]>(
      `SELECT terms_id FROM plan WHERE id = $1`,
      [planId],
    );
    const opening = { planId, accountId, termsId, revision: 2, dnsNames: ['a.example.com'], settlingMs: 0 };
    await core.transactions.run(async (tx) => await core.issuances.open(tx, opening));
    const next = await attachOpen(core, planId, validity(-0.1, 89.9, now));
    await notices.writeDue(10, daysOn(20));
    expect(await mailedDays(accountId)).toEqual([]);
    await notices.writeDue(10, daysOn(60));
    expect((await mailsTo(accountId)).map(({ facts }) => facts)).toEqual([
      { certificateId: next.certificateId, thresholdDays: 30 },
    ]);
  });

  it('start with the next threshold when a plan is unmuted', async () => {
    const { planId, accountId } = await certificate(20);
    await core.database.query(`UPDATE plan SET muted = true WHERE id = $1`, [planId]);
    await notices.writeDue(10);
    await core.database.query(`UPDATE plan SET muted = false WHERE id = $1`, [planId]);
    await notices.writeDue(10, daysOn(1));
    expect(await mailedDays(accountId)).toEqual([]);
    await notices.writeDue(10, daysOn(7));
    expect(await mailedDays(accountId)).toEqual([14]);
  });

  it('skip thresholds longer than the lifetime, and do not return to them', async () => {
    const { accountId } = await certificate(6, 7);
    expect((await notices.writeDue(10)).found).toBe(0);
    await notices.writeDue(10, daysOn(3.5));
    expect(await mailedDays(accountId)).toEqual([3]);
  });

  it('are marked as handled without a mail while the account has no address', async () => {
    const { accountId, certificateId } = await certificate(10, 90, null);
    expect(await notices.writeDue(10)).toEqual({ found: 1, mailed: 0 });
    expect(await noticedDays(certificateId)).toEqual([30, 14]);
    await core.database.query(`UPDATE account SET contact_email = 'late@example.com' WHERE id = $1`, [
      accountId,
    ]);
    await notices.writeDue(10, daysOn(1));
    expect(await mailedDays(accountId)).toEqual([]);
    await notices.writeDue(10, daysOn(4));
    expect(await mailedDays(accountId)).toEqual([7]);
  });
});
