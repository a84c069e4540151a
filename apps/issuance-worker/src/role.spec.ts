import { ApprovalRecords } from '@certwright/approvals';
import { ExpirationNotices } from './notices/expiration-notices';
import { IssuanceStatisticsReader } from './issuance/issuance-statistics';
import { LogSubmissions } from './log-submissions/log-submissions';
import { Mails } from '@certwright/delivery';
import { Outbox, Transactions } from '@certwright/core-schema';
import { opensslCsr } from './testing/opened-issuance';
import { Issuing } from './testing/issuing';

let issuing: Issuing;
beforeAll(async () => {
  issuing = await Issuing.open();
}, 30_000);
afterAll(async () => await issuing.close());

// Statements that no other test of the worker runs with its role.
describe('the role of the worker', () => {
  it('reads the rows for its metrics', async () => {
    const { asWorker } = issuing;
    expect(await new Outbox(asWorker).backlog()).toMatchObject({ rows: 0 });
    expect(await new IssuanceStatisticsReader(asWorker).read()).toMatchObject({ due: 0 });
    const records = new ApprovalRecords(asWorker, new Transactions(asWorker));
    expect(await records.backlog()).toEqual({ oldestDueS: 0, failingIntegrations: 0 });
  });

  it('writes notices of expiration, and deletes submissions of expired certificates', async () => {
    const { asWorker, database } = issuing;
    const dnsNames = ['role.example.com'];
    const { certificateId, planId } = await issuing.issued(dnsNames, opensslCsr(dnsNames));
    await database.query(`UPDATE plan SET auto_renew = false WHERE id = $1`, [planId]);
    await database.query(
      `UPDATE certificate SET not_before = now() - interval '89 days', not_after = now() + interval '12 hours' WHERE id = $1`,
      [certificateId],
    );
    await new ExpirationNotices(new Transactions(asWorker), new Mails(asWorker)).write();
    expect(await database.query(`SELECT FROM expiration_notice`)).not.toEqual([]);

    await database.query(
      `INSERT INTO log_submission (certificate_id, log_url, due_at) VALUES ($1, 'http://log.example/', now())`,
      [certificateId],
    );
    await database.query(`UPDATE certificate SET not_after = now() WHERE id = $1`, [certificateId]);
    expect(await new LogSubmissions(asWorker).lease('http://log.example/', 10, 60_000)).toEqual([]);
    expect(await database.query(`SELECT FROM log_submission`)).toEqual([]);
  });
});
