import { randomBytes } from 'node:crypto';
import { attachedCertificate, validity } from '@certwright/core-testing';
import { CoreDatabaseFixture } from '@certwright/core-testing';
import { LogSubmissions } from './log-submissions';

const accountId = '1000000000001';
const urls = ['http://a.example/', 'http://b.example/'] as const;
const [log] = urls;

let core: CoreDatabaseFixture;
let submissions: LogSubmissions;
beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  await core.account(accountId);
  submissions = new LogSubmissions(core.database);
}, 30_000);
afterAll(async () => await core.close());
beforeEach(
  async () =>
    await core.database.query(`DELETE FROM log_submission; UPDATE ca_signing SET logs_chosen = true`),
);

/** A certificate in the built-in CA's ledger; `ledgerSerial` differs after the issuance moved to another CA. */
async function issued(toDays = 30, ledgerSerial?: Buffer): Promise<string> {
  const { certificateId, issuanceId } = await attachedCertificate(core, accountId, validity(-1, toDays));
  await core.database.query(
    `INSERT INTO ca_signing (issuance_id, serial_number, tbs, not_after)
     SELECT $2, coalesce($3, decode(serial_number, 'hex')), ''::bytea, not_after FROM certificate WHERE id = $1`,
    [certificateId, issuanceId, ledgerSerial ?? null],
  );
  return certificateId;
}

const due = async (url: string = log, limit = 100) => await submissions.lease(url, limit, 60_000);
const ids = (rows: readonly { certificateId: string }[]) => rows.map(({ certificateId }) => certificateId);
const dueAgain = async () => await core.database.query(`UPDATE log_submission SET due_at = now()`);
const row = async (certificateId: string) =>
  (
    await core.database.query<object[]>(
      `SELECT attempts, last_error, sct, logged_at FROM log_submission WHERE certificate_id = $1 AND log_url = $2`,
      [certificateId, log],
    )
  )[0];

describe('a certificate of the built-in CA', () => {
  it('is submitted to every log once, with any number of processes', async () => {
    const certificates = [await issued(), await issued(20)];
    const looked = await Promise.all([1, 2, 3].map(async () => await submissions.choose(urls, 100)));
    expect(looked.reduce((sum, each) => sum + each)).toBe(2);
    expect(await submissions.choose(urls, 100)).toBe(0);
    for (const url of urls) expect(ids(await due(url)).sort()).toEqual(certificates.sort());
  });

  it('includes its chain, the root last', async () => {
    const certificateId = await issued();
    await submissions.choose([log], 100);
    const [{ leaf }] = await core.database.query<[{ leaf: Buffer }]>(
      `SELECT leaf FROM certificate WHERE id = $1`,
      [certificateId],
    );
    expect(await due()).toEqual([
      { certificateId, logUrl: log, attempts: 1, leaf, chain: [Buffer.of(1), Buffer.of(2)] },
    ]);
  });

  it('is chosen without waiting for a revocation of another one in progress', async () => {
    const [locked, free] = [await issued(), await issued()];
    await core.transactions.run(async (tx) => {
      await tx.query(
        `UPDATE ca_signing SET revoked_at = now() WHERE issuance_id = (SELECT issuance_id FROM certificate WHERE id = $1)`,
        [locked],
      );
      expect(await submissions.choose([log], 100)).toBe(1);
      expect(ids(await due())).toEqual([free]);
    });
    expect(await submissions.choose([log], 100)).toBe(1);
    expect(ids(await due())).toEqual([locked]);
  });
});

describe('nothing is to be submitted', () => {
  it('for expired, foreign and imported certificates', async () => {
    await issued(-0.5);
    await issued(30, randomBytes(16));
    await attachedCertificate(core, accountId, validity(-1, 30));
    expect(await submissions.choose(urls, 100)).toBe(0);
    expect(await due()).toEqual([]);
  });

  it('for a certificate that expired while waiting: it is deleted', async () => {
    const certificateId = await issued();
    await submissions.choose([log], 100);
    await core.database.query(
      `UPDATE certificate SET not_before = now() - interval '2 days', not_after = now() WHERE id = $1`,
      [certificateId],
    );
    expect(await due()).toEqual([]);
    expect(await row(certificateId)).toBeUndefined();
  });
});

describe('a submission due at a log', () => {
  it('belongs to one process until its lease ends', async () => {
    const certificates = [await issued(), await issued(), await issued()];
    await submissions.choose([log], 100);
    const hands = (await Promise.all([due(log, 1), due(log, 1), due(log, 1)])).flat();
    expect(ids(hands).sort()).toEqual(certificates.sort());
    expect(await due()).toEqual([]);
    await dueAgain();
    expect((await due()).map(({ attempts }) => attempts)).toEqual([2, 2, 2]);
  });

  it('waits after a refusal, but not after a release, which is not an attempt', async () => {
    const [refused, returned] = [await issued(), await issued()];
    await submissions.choose([log], 100);
    const rows = await due();
    const of = (id: string) =>
      rows.find(({ certificateId }) => certificateId === id) ?? { certificateId: id, logUrl: log };
    await submissions.postpone(of(refused), 3_600_000, 'The log responded with 400.');
    await submissions.release(log, [returned]);
    expect((await due()).map(({ certificateId, attempts }) => [certificateId, attempts])).toEqual([
      [returned, 1],
    ]);
    expect(await row(refused)).toMatchObject({
      attempts: 1,
      last_error: 'The log responded with 400.',
      sct: null,
    });
  });

  it('is no longer due once the log has promised, and the first promise is kept', async () => {
    const certificateId = await issued();
    await submissions.choose([log], 100);
    const [submission] = await due();
    if (submission === undefined) throw new Error('it is due');
    const loggedAt = new Date('2026-11-20T10:00:00Z');
    const sctAt = async () => {
      const [row] = await core.database.query<[{ sct_at: Date | null }]>(
        `SELECT sct_at FROM certificate WHERE id = $1`,
        [submission.certificateId],
      );
      return row.sct_at;
    };
    expect(await sctAt()).toBeNull();
    await submissions.logged(submission, { sct: Buffer.from('first'), loggedAt });
    const first = await sctAt();
    expect(first).toBeInstanceOf(Date);
    await submissions.logged(submission, { sct: Buffer.from('second'), loggedAt: new Date() });
    expect(await sctAt()).toEqual(first);
    await submissions.postpone(submission, 0, 'late');
    await submissions.release(log, [certificateId]);
    await dueAgain();
    expect(await due()).toEqual([]);
    expect(await row(certificateId)).toEqual({
      attempts: 1,
      last_error: null,
      sct: Buffer.from('first'),
      logged_at: loggedAt,
    });
  });
});
