import { X509Certificate } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { PendingRevocations } from './pending-revocations';
import { Revocations } from '@certwright/ordering';
import { Transactions } from '@certwright/core-schema';
import type { DataSource } from 'typeorm';
import type { CertificateAuthority } from '../certificate-authorities/certificate-authority';
import { FaultyDatabase } from '../testing/faulty-database';
import { Issuing } from '../testing/issuing';
import { AcmeFault } from '../acme';
import { opensslCsr } from '../testing/opened-issuance';
import { revokeCertificate, type RevocationFailure } from './revoke-certificate';

const dnsNames = ['a.example.com'];
const reason = 4;

let issuing: Issuing;
let csr: Buffer;

beforeAll(async () => {
  issuing = await Issuing.open();
  csr = opensslCsr(dnsNames);
}, 30_000);
afterAll(async () => await issuing.close());

type Issued = Awaited<ReturnType<Issuing['issued']>>;

/** The API's part, over this connection. */
const request = async (source: DataSource, { planId, certificateId }: Issued) =>
  await new Transactions(source).run(
    async (tx) =>
      await new Revocations().request(tx, { planId, certificateId, reason, requestedBy: 'subscriber' }),
  );

/** The worker's part, over this connection. */
async function work(source: DataSource, { certificateId }: Issued, authority?: CertificateAuthority) {
  const ca = authority ?? issuing.caOver(source);
  const failures: RevocationFailure[] = [];
  const ports = {
    pending: new PendingRevocations(source, new Transactions(source)),
    issuers: ca,
    revoked: () => undefined,
    failed: (_: object, failure: RevocationFailure) => failures.push(failure),
  };
  await revokeCertificate(ports, certificateId);
  return failures;
}

interface Truths {
  /** In our row. */
  readonly revoked: boolean;
  /** As confirmed by the CA. */
  readonly confirmed: boolean;
  /** In the CA's ledger. */
  readonly atCa: boolean;
}

async function truthsOf({ certificateId }: Issued): Promise<Truths> {
  const [row] = await issuing.database.query<[Truths]>(
    `SELECT certificate.revoked_at IS NOT NULL AS revoked, ca_revoked_at IS NOT NULL AS confirmed,
       ca_signing.revoked_at IS NOT NULL AND ca_signing.revocation_reason = $2 AS "atCa"
     FROM certificate JOIN ca_signing ON ca_signing.issuance_id::text = certificate.ca_reference
     WHERE certificate.id = $1`,
    [certificateId, reason],
  );
  return row;
}

async function publishedSerials(): Promise<string> {
  await issuing.ca.renewRevocationLists();
  const [{ list }] = await issuing.database.query<[{ list: Buffer | null }]>(
    `SELECT crl AS list FROM ca_issuer WHERE name = 'intermediate'`,
  );
  return execFileSync('openssl', ['crl', '-inform', 'DER', '-noout', '-text'], {
    input: list ?? Buffer.alloc(0),
    encoding: 'utf8',
  });
}

async function serialOf({ certificateId }: Issued): Promise<string> {
  const [{ leaf }] = await issuing.database.query<[{ leaf: Buffer }]>(
    `SELECT leaf FROM certificate WHERE id = $1`,
    [certificateId],
  );
  return new X509Certificate(leaf).serialNumber;
}

describe('a revocation', () => {
  it('reaches the CA, its list, and the row', async () => {
    const issued = await issuing.issued(dnsNames, csr);
    await request(issuing.database, issued);
    expect(await truthsOf(issued)).toEqual({ revoked: true, confirmed: false, atCa: false });
    await work(issuing.asWorker, issued);
    expect(await truthsOf(issued)).toEqual({ revoked: true, confirmed: true, atCa: true });
    expect(await publishedSerials()).toContain(await serialOf(issued));
  });

  it('sends nothing to the CA for a certificate that is not revoked, or already confirmed', async () => {
    const issued = await issuing.issued(dnsNames, csr);
    const asked: string[] = [];
    const counting = {
      revoke: async (reference: string) => await Promise.resolve(void asked.push(reference)),
    } as unknown as CertificateAuthority;
    await work(issuing.asWorker, issued, counting);
    await request(issuing.database, issued);
    await work(issuing.asWorker, issued, counting);
    await work(issuing.asWorker, issued, counting);
    expect(asked).toEqual([issued.issuanceId]);
  });

  it('stays pending while the CA is unavailable', async () => {
    const issued = await issuing.issued(dnsNames, csr);
    await request(issuing.database, issued);
    const unavailable = {
      revoke: async () => await Promise.reject(new Error('the CA is unavailable')),
    } as unknown as CertificateAuthority;
    await expect(work(issuing.asWorker, issued, unavailable)).rejects.toThrow('the CA is unavailable');
    expect(await truthsOf(issued)).toMatchObject({ confirmed: false });
    await work(issuing.asWorker, issued);
    expect(await truthsOf(issued)).toEqual({ revoked: true, confirmed: true, atCa: true });
  });
});

describe('a revocation that the CA does not carry out', () => {
  const refusing = (fault: Error) =>
    ({ revoke: async () => await Promise.reject(fault) }) as unknown as CertificateAuthority;
  const problem = (type: 'unauthorized' | 'serverInternal', status: number) =>
    new AcmeFault('problem', 'no', {
      status,
      problem: { type, status, detail: 'no', instance: null, dnsName: null, subproblems: [] },
    });
  const isDue = async ({ certificateId }: Issued) =>
    (await new PendingRevocations(issuing.asWorker, new Transactions(issuing.asWorker)).page(null, 500)).some(
      ({ id }) => id === certificateId,
    );
  const attempt = async ({ certificateId }: Issued) => {
    const [row] = await issuing.database.query<[Record<string, unknown>?]>(
      `SELECT failures, refused, extract(epoch FROM due_at - now())::int AS waits_s, outcome
       FROM revocation_attempt WHERE certificate_id = $1`,
      [certificateId],
    );
    return row;
  };
  const requested = async () => {
    const issued = await issuing.issued(dnsNames, csr);
    await request(issuing.database, issued);
    return issued;
  };

  it('is sent again after growing intervals, of at most an hour, with the reason of the CA', async () => {
    const issued = await requested();
    expect(await isDue(issued)).toBe(true);
    const failures = await work(issuing.asWorker, issued, refusing(problem('unauthorized', 403)));
    expect(failures).toMatchObject([{ refused: true, failures: 1, outcome: { reason: 'unauthorized' } }]);
    expect(await isDue(issued)).toBe(false);
    const outcome = { code: 'ca_refused', authority: 'built-in', reason: 'unauthorized', saying: 'no' };
    const first = await attempt(issued);
    expect(first).toMatchObject({ failures: 1, refused: true, outcome });
    expect(first?.['waits_s']).toBeGreaterThan(50);
    expect(first?.['waits_s']).toBeLessThanOrEqual(60);
    for (let nth = 2; nth <= 9; nth += 1)
      await work(issuing.asWorker, issued, refusing(problem('unauthorized', 403)));
    const last = await attempt(issued);
    expect(last).toMatchObject({ failures: 9 });
    expect(last?.['waits_s']).toBeGreaterThan(3_590);
    expect(last?.['waits_s']).toBeLessThanOrEqual(3_600);
    expect(await truthsOf(issued)).toMatchObject({ revoked: true, confirmed: false });
    await issuing.database.query(`UPDATE revocation_attempt SET due_at = now()`);
    expect(await isDue(issued)).toBe(true);
    await work(issuing.asWorker, issued);
    expect(await truthsOf(issued)).toEqual({ revoked: true, confirmed: true, atCa: true });
    expect(await attempt(issued)).toBeUndefined();
  });

  it('because the CA is unavailable, is sent again sooner', async () => {
    const issued = await requested();
    const unavailable = refusing(problem('serverInternal', 500));
    expect(await work(issuing.asWorker, issued, unavailable)).toMatchObject([{ refused: false }]);
    expect((await attempt(issued))?.['waits_s']).toBeLessThanOrEqual(10);
    for (let nth = 2; nth <= 9; nth += 1) await work(issuing.asWorker, issued, unavailable);
    expect((await attempt(issued))?.['waits_s']).toBeLessThanOrEqual(600);
  });

  it('is counted by what the CA responds, and forgotten when the certificate has expired', async () => {
    const pending = new PendingRevocations(issuing.asWorker, new Transactions(issuing.asWorker));
    const before = await pending.counts();
    const issued = await requested();
    expect(await pending.counts()).toEqual({ ...before, waiting: before.waiting + 1 });
    await work(issuing.asWorker, issued, refusing(problem('unauthorized', 403)));
    expect(await pending.counts()).toEqual({ ...before, refused: before.refused + 1 });
    await issuing.database.query(
      `UPDATE certificate SET not_before = now() - interval '2 d', not_after = now() - interval '1 d' WHERE id = $1`,
      [issued.certificateId],
    );
    await pending.forgetExpired();
    expect(await attempt(issued)).toBeUndefined();
  });
});

describe.each(['before', 'after'] as const)('the database connection fails %s a statement', (when) => {
  it('of the request: it is stored completely or not at all, and the retry revokes and replaces once', async () => {
    for (let nth = 1; ; nth += 1) {
      const issued = await issuing.issued(dnsNames, csr);
      // An API's transaction, not the worker's.
      const faulty = new FaultyDatabase(issuing.database, nth, when);
      await request(faulty.source, issued).catch(() => undefined);
      const [halves] = await issuing.database.query<[Record<string, boolean>]>(
        `SELECT certificate.revoked_at IS NOT NULL AS revoked, NOT is_current AS moved,
           EXISTS (SELECT 1 FROM outbox WHERE job_id = 'revoke-certificate-' || certificate.id || '-4') AS woken,
           EXISTS (SELECT 1 FROM issuance WHERE replaces_certificate_id = certificate.id) AS replaced
         FROM certificate WHERE id = $1`,
        [issued.certificateId],
      );
      expect({ nth, kinds: new Set(Object.values(halves)).size }).toEqual({ nth, kinds: 1 });
      await request(issuing.database, issued);
      await work(issuing.asWorker, issued);
      expect(await truthsOf(issued)).toEqual({ revoked: true, confirmed: true, atCa: true });
      const [{ count }] = await issuing.database.query<[{ count: number }]>(
        `SELECT count(*)::int AS count FROM issuance WHERE replaces_certificate_id = $1`,
        [issued.certificateId],
      );
      expect({ nth, count }).toEqual({ nth, count: 1 });
      if (!faulty.struck) break;
      expect(nth).toBeLessThan(30);
    }
  }, 60_000);

  it('of the worker: the retry makes row, CA and list consistent', async () => {
    const serials: string[] = [];
    for (let nth = 1; ; nth += 1) {
      const issued = await issuing.issued(dnsNames, csr);
      await request(issuing.database, issued);
      const faulty = new FaultyDatabase(issuing.asWorker, nth, when);
      await work(faulty.source, issued).catch(() => undefined);
      const { confirmed, atCa } = await truthsOf(issued);
      // Never confirmed in the row before the CA has revoked it.
      expect(atCa || !confirmed).toBe(true);
      await work(issuing.asWorker, issued);
      expect(await truthsOf(issued)).toEqual({ revoked: true, confirmed: true, atCa: true });
      serials.push(await serialOf(issued));
      if (!faulty.struck) break;
    }
    expect(serials.length).toBeGreaterThan(3);
    const published = await publishedSerials();
    for (const serial of serials) expect(published).toContain(serial);
  }, 60_000);
});
