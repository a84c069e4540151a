import { X509Certificate } from 'node:crypto';
import { ApprovalRecords } from '@certwright/approvals';
import { Attachments, LeasedIssuances } from '@certwright/ordering';
import { Transactions } from '@certwright/core-schema';
import { eventually } from '@certwright/testing';
import type { DataSource } from 'typeorm';
import type { ApprovalResult, Approver } from '../approvals/approver';
import { PublishApprovals } from '../approvals/publish-approvals';
import type { BuiltInCa } from '../certificate-authorities/built-in/built-in-ca';
import type {
  CertificateAuthority,
  CertificateRequest,
} from '../certificate-authorities/certificate-authority';
import { openIssuance, type OpenedIssuance, opensslCsr, type Repositories } from '../testing/opened-issuance';
import { AdvanceIssuance } from './advance-issuance';
import { FaultyDatabase } from '../testing/faulty-database';
import { Issuing } from '../testing/issuing';
import { severableDatabase } from '../testing/severable-database';
import { soleIssuer } from '../testing/sole-issuer';

const dnsNames = ['a.example.com', 'b.example.com'];

let issuing: Issuing;
let database: DataSource;
let asWorker: DataSource;
let ca: BuiltInCa;
let repositories: Repositories;
let csr: Buffer;
let result: ApprovalResult;
const unexpectedErrors: unknown[] = [];

const approver: Approver = {
  method: 'dns',
  placeOf: ({ dnsName }) => dnsName,
  check: async () => await Promise.resolve(result),
};

beforeAll(async () => {
  issuing = await Issuing.open();
  ({ database, asWorker, ca, repositories } = issuing);
  csr = opensslCsr(dnsNames);
}, 30_000);

afterAll(async () => await issuing.close());

beforeEach(() => {
  result = { approved: true };
  unexpectedErrors.length = 0;
});

let nextCertificateId = 1;

const refuseToRevoke = async () => await Promise.reject(new Error('nothing is revoked here'));

function worker(
  source: DataSource,
  authority: CertificateAuthority = ca,
  approvedBy: Approver = approver,
): AdvanceIssuance {
  return new AdvanceIssuance({
    leasedIssuances: new LeasedIssuances(source),
    attachments: new Attachments(new Transactions(source)),
    approvers: [approvedBy],
    publishing: new PublishApprovals(new ApprovalRecords(source, new Transactions(source)), 'unused', false),
    approvalReuseMs: 86_400_000,
    issuers: soleIssuer(authority),
    events: {
      changed: () => undefined,
      attached: () => undefined,
      failed: () => undefined,
      resting: () => undefined,
      leaseLost: () => undefined,
      unexpectedError: (_, error) => unexpectedErrors.push(error),
    },
    certificateId: () => String(nextCertificateId++),
  });
}

interface IssuanceState {
  readonly state: string;
  readonly failures: number;
  readonly last_error: { readonly code: string } | null;
  readonly approvals: readonly { readonly status: string; readonly problem: string | null }[];
  readonly waits: boolean;
}

async function issuanceState({ issuanceId }: OpenedIssuance): Promise<IssuanceState> {
  const [row] = await database.query<[IssuanceState]>(
    `SELECT state, failures, last_error, approvals, due_at > now() AND leased_until IS NULL AS waits
     FROM issuance WHERE id = $1`,
    [issuanceId],
  );
  return row;
}

async function certificatesOf({ planId }: OpenedIssuance) {
  return await database.query<{ leaf: Buffer; is_current: boolean }[]>(
    `SELECT leaf, is_current FROM certificate WHERE plan_id = $1`,
    [planId],
  );
}

/** Leases left by a crash expire; a test does not wait for it. */
async function endLeasesAndWaits(): Promise<void> {
  await database.query(`UPDATE issuance SET leased_until = NULL, due_at = now() WHERE state = 'open'`);
}

describe('an issuance whose names are approved', () => {
  it('becomes one current certificate for the names and the key of the CSR', async () => {
    const opened = await openIssuance(repositories, dnsNames, csr);
    await worker(asWorker).run(opened.issuanceId);
    const [certificate, ...more] = await certificatesOf(opened);
    expect(more).toEqual([]);
    expect(certificate?.is_current).toBe(true);
    const parsed = new X509Certificate(certificate?.leaf ?? Buffer.alloc(0));
    expect(parsed.subjectAltName).toBe('DNS:a.example.com, DNS:b.example.com');
    expect(await issuanceState(opened)).toMatchObject({ state: 'issued', failures: 0 });
  });

  it('is issued once when two workers run it at the same time', async () => {
    const opened = await openIssuance(repositories, dnsNames, csr);
    await Promise.all([worker(asWorker).run(opened.issuanceId), worker(asWorker).run(opened.issuanceId)]);
    expect(await certificatesOf(opened)).toHaveLength(1);
  });

  it('is issued when a fail-over lost the chain that this process has stored', async () => {
    const surviving = worker(asWorker);
    await surviving.run((await openIssuance(repositories, dnsNames, csr)).issuanceId);
    await database.query(`DELETE FROM certificate`);
    await database.query(`DELETE FROM certificate_chain`);
    const opened = [
      await openIssuance(repositories, dnsNames, csr),
      await openIssuance(repositories, dnsNames, csr),
    ];
    await Promise.all(opened.map(async ({ issuanceId }) => await surviving.run(issuanceId)));
    for (const each of opened) expect(await certificatesOf(each)).toHaveLength(1);
    expect(unexpectedErrors).toEqual([]);
  });

  it('gets no certificate whose record a fail-over lost, but the next one', async () => {
    const opened = await openIssuance(repositories, dnsNames, csr);
    const losing: CertificateAuthority = {
      submit: async (request) => await ca.submit(request),
      collect: async (reference, request) => {
        const issued = await ca.collect(reference, request);
        await database.query(`DELETE FROM ca_signing WHERE issuance_id = $1`, [opened.issuanceId]);
        await database.query(`UPDATE issuance SET ca_reference = NULL WHERE id = $1`, [opened.issuanceId]);
        return issued;
      },
      revoke: refuseToRevoke,
    };
    await worker(asWorker, losing).run(opened.issuanceId);
    expect(await certificatesOf(opened)).toEqual([]);
    expect(await issuanceState(opened)).toMatchObject({ state: 'open', failures: 0 });
    await endLeasesAndWaits();
    await worker(asWorker).run(opened.issuanceId);
    const recorded = await database.query<unknown[]>(
      `SELECT 1 FROM certificate JOIN ca_signing USING (issuance_id)
       WHERE plan_id = $1 AND ca_reference = issuance_id::text
         AND certificate.serial_number = encode(ca_signing.serial_number, 'hex')`,
      [opened.planId],
    );
    expect(recorded).toHaveLength(1);
    expect(unexpectedErrors).toEqual([]);
  });

  it('replaces a certificate that has expired and is still marked as current', async () => {
    const { planId, issuanceId } = await openIssuance(repositories, dnsNames, csr);
    await worker(asWorker).run(issuanceId);
    await database.query(`UPDATE certificate SET not_after = now() - interval '1 s' WHERE plan_id = $1`, [
      planId,
    ]);
    const [next] = await database.query<[{ id: string }]>(
      `INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at)
       SELECT plan_id, account_id, terms_id, revision + 1, 'open', approvals, now() FROM issuance WHERE id = $1 RETURNING id`,
      [issuanceId],
    );
    await worker(asWorker).run(next.id);
    expect(unexpectedErrors).toEqual([]);
    const current = await database.query<unknown[]>(
      `SELECT issuance_id FROM certificate WHERE plan_id = $1 AND is_current`,
      [planId],
    );
    expect(current).toEqual([{ issuance_id: next.id }]);
  });

  it('is issued when the CA accepts it only after more than 30 days', async () => {
    const opened = await openIssuance(repositories, dnsNames, csr);
    const error = { code: 'ca_rejected', outcome: { code: 'text', text: 'not now' } } as const;
    const refused = { error, until: null, final: false, waitsFor: [], stalled: false };
    const refusing: CertificateAuthority = {
      revoke: refuseToRevoke,
      submit: async () => await Promise.resolve({ kind: 'refused', ...refused }),
      collect: () => Promise.reject(new Error('nothing was submitted')),
    };
    await worker(asWorker, refusing).run(opened.issuanceId);
    expect(await issuanceState(opened)).toMatchObject({ state: 'open', last_error: { code: 'ca_rejected' } });
    await database.query(
      `UPDATE issuance SET opened_at = opened_at - interval '31 days', due_at = now(), approvals =
         (SELECT jsonb_agg(each || jsonb_build_object('checkedAt', '2026-01-01T00:00:00Z')) FROM jsonb_array_elements(approvals) AS each)
       WHERE id = $1`,
      [opened.issuanceId],
    );
    await worker(asWorker).run(opened.issuanceId);
    expect(await issuanceState(opened)).toMatchObject({ state: 'issued' });
  });

  it('is not changed once it is issued', async () => {
    const opened = await openIssuance(repositories, dnsNames, csr);
    await worker(asWorker).run(opened.issuanceId);
    await worker(asWorker).run(opened.issuanceId);
    expect(await certificatesOf(opened)).toHaveLength(1);
  });
});

describe('a CA that writes names in upper case', () => {
  it('has its certificate stored with the names of the order, by which it is selected later', async () => {
    const opened = await openIssuance(repositories, dnsNames, csr);
    const loud: CertificateAuthority = {
      revoke: refuseToRevoke,
      submit: async (request) =>
        await ca.submit({ ...request, dnsNames: request.dnsNames.map((name) => name.toUpperCase()) }),
      collect: async (reference, request) => await ca.collect(reference, request),
    };
    await worker(asWorker, loud).run(opened.issuanceId);
    const stored = await database.query<{ leaf: Buffer; dns_names: string[] }[]>(
      `SELECT leaf, dns_names FROM certificate WHERE plan_id = $1`,
      [opened.planId],
    );
    expect(stored).toMatchObject([{ dns_names: dnsNames }]);
    const parsed = new X509Certificate(stored[0]?.leaf ?? Buffer.alloc(0));
    expect(parsed.subjectAltName).toBe('DNS:A.EXAMPLE.COM, DNS:B.EXAMPLE.COM');
  });
});

describe('an issuance whose names are not approved', () => {
  it('waits, and reports what was found', async () => {
    result = { approved: false, problem: { code: 'text', text: 'nothing there' } };
    const opened = await openIssuance(repositories, dnsNames, csr);
    await worker(asWorker).run(opened.issuanceId);
    const state = await issuanceState(opened);
    expect(state).toMatchObject({ state: 'open', waits: true, failures: 0 });
    expect(state.approvals.map(({ problem }) => problem)).toEqual([
      'By DNS record: nothing there',
      'By DNS record: nothing there',
    ]);
    expect(await certificatesOf(opened)).toEqual([]);
  });
});

describe('a plan that is paused before the certificate is attached', () => {
  it('gets no certificate', async () => {
    const opened = await openIssuance(repositories, dnsNames, csr);
    const pausing: CertificateAuthority = {
      revoke: refuseToRevoke,
      submit: async (request) => await ca.submit(request),
      collect: async (reference, request) => {
        await database.query(`UPDATE plan SET paused = true WHERE id = $1`, [opened.planId]);
        return await ca.collect(reference, request);
      },
    };
    await worker(asWorker, pausing).run(opened.issuanceId);
    expect(await certificatesOf(opened)).toEqual([]);
    expect((await issuanceState(opened)).state).toBe('canceled');
  });
});

describe('a key that was blocked after the order was created', () => {
  it('gets no certificate, and the order reports why', async () => {
    const names = ['blocked.example.com'];
    const opened = await openIssuance(repositories, names, opensslCsr(names));
    await database.query(`INSERT INTO blocked_key SELECT spki_sha256, 'spec' FROM terms WHERE plan_id = $1`, [
      opened.planId,
    ]);
    await worker(asWorker).run(opened.issuanceId);
    expect(await certificatesOf(opened)).toEqual([]);
    expect(await issuanceState(opened)).toMatchObject({
      state: 'failed',
      last_error: { code: 'key_compromised' },
    });
  });
});

describe('a key that a newer release lists as published', () => {
  it('gets no certificate, and the order reports why', async () => {
    const names = ['published.example.com'];
    const opened = await openIssuance(repositories, names, opensslCsr(names));
    const ofRfc6979 = '5a7a78cca4a0f420d9bc62bb669c3c2759e39f723d3ae10dcbe0f0815a07ecd4';
    // Terms are immutable, and the APIs refuse a CSR with such a key.
    await database.query(
      `BEGIN; SET LOCAL session_replication_role = replica;
       UPDATE terms SET spki_sha256 = '\\x${ofRfc6979}' WHERE plan_id = ${opened.planId}; COMMIT`,
    );
    await worker(database).run(opened.issuanceId);
    expect(await certificatesOf(opened)).toEqual([]);
    expect(await issuanceState(opened)).toMatchObject({
      state: 'failed',
      last_error: { code: 'key_compromised' },
    });
  });
});

describe('a CA that returns a wrong certificate', () => {
  it('leads to no certificate and a final failure', async () => {
    const opened = await openIssuance(repositories, dnsNames, csr);
    const other = await openIssuance(repositories, ['c.example.com'], opensslCsr(['c.example.com']));
    const wrong: CertificateAuthority = {
      revoke: refuseToRevoke,
      submit: async (request) => await ca.submit(request),
      collect: async () =>
        await ca.collect(other.issuanceId, { lease: { issuanceId: other.issuanceId, token: '0' } }),
    };
    await worker(asWorker).run(other.issuanceId);
    await worker(asWorker, wrong).run(opened.issuanceId);
    expect(await certificatesOf(opened)).toEqual([]);
    expect(await issuanceState(opened)).toMatchObject({
      state: 'failed',
      last_error: { code: 'certificate_mismatch' },
    });
  });

  it('of an earlier request leads to a final failure, and not to attempts without end', async () => {
    const opened = await openIssuance(repositories, dnsNames, csr);
    await worker(asWorker).run(opened.issuanceId);
    const [next] = await database.query<[{ id: string }]>(
      `INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at)
       SELECT plan_id, account_id, terms_id, revision + 1, 'open', approvals, now() FROM issuance WHERE id = $1 RETURNING id`,
      [opened.issuanceId],
    );
    const repeating: CertificateAuthority = {
      revoke: refuseToRevoke,
      submit: async (request) => await ca.submit(request),
      collect: async () =>
        await ca.collect(opened.issuanceId, { lease: { issuanceId: opened.issuanceId, token: '0' } }),
    };
    await worker(asWorker, repeating).run(next.id);
    expect(unexpectedErrors).toEqual([]);
    expect(await certificatesOf(opened)).toHaveLength(1);
    expect(await issuanceState({ ...opened, issuanceId: next.id })).toMatchObject({
      state: 'failed',
      last_error: { code: 'certificate_mismatch' },
    });
  });

  it('is waited for when it begins a little later, and is neither lost nor issued again', async () => {
    const opened = await openIssuance(repositories, dnsNames, csr);
    const backdatedMs = 60 * 60 * 1_000;
    const ahead: CertificateAuthority = {
      revoke: refuseToRevoke,
      submit: async (request) =>
        await ca.submit({ ...request, now: new Date(request.now.getTime() + backdatedMs + 2_000) }),
      collect: async (reference, request) => await ca.collect(reference, request),
    };
    await worker(asWorker, ahead).run(opened.issuanceId);
    expect(await issuanceState(opened)).toMatchObject({ state: 'open', failures: 0, last_error: null });
    expect(await certificatesOf(opened)).toEqual([]);
    await eventually(async () => {
      await worker(asWorker, ahead).run(opened.issuanceId);
      expect(await issuanceState(opened)).toMatchObject({ state: 'issued' });
    });
    expect(await certificatesOf(opened)).toHaveLength(1);
  });

  it('backs off when the CA throws, and reveals no internal details', async () => {
    const opened = await openIssuance(repositories, dnsNames, csr);
    const broken: CertificateAuthority = {
      revoke: refuseToRevoke,
      submit: () => Promise.reject(new Error('secret path /var/lib/ca')),
      collect: () => Promise.reject(new Error('unreachable')),
    };
    await worker(asWorker, broken).run(opened.issuanceId);
    const state = await issuanceState(opened);
    expect(state).toMatchObject({
      state: 'open',
      failures: 1,
      waits: true,
      last_error: { code: 'ca_unavailable' },
    });
    expect(JSON.stringify(state.last_error)).not.toContain('secret');
  });
});

describe('a worker that is frozen past its lease', () => {
  it.each(['submit', 'collect'] as const)('writes nothing when it wakes up in %s', async (frozenIn) => {
    const opened = await openIssuance(repositories, dnsNames, csr);
    const freeze = async () => {
      await endLeasesAndWaits();
      await worker(asWorker).run(opened.issuanceId);
    };
    const frozen: CertificateAuthority = {
      revoke: refuseToRevoke,
      submit: async (request: CertificateRequest) => {
        if (frozenIn === 'submit') await freeze();
        return await ca.submit(request);
      },
      collect: async (reference, request) => {
        if (frozenIn === 'collect') await freeze();
        return await ca.collect(reference, request);
      },
    };
    await worker(asWorker, frozen).run(opened.issuanceId);
    expect(await certificatesOf(opened)).toHaveLength(1);
    expect(await issuanceState(opened)).toMatchObject({ state: 'issued', failures: 0 });
    expect(unexpectedErrors).toEqual([]);
  });
});

it('is released after a database outage ended its run', async () => {
  const severable = await severableDatabase(issuing.databaseUrl);
  try {
    const opened = await openIssuance(repositories, dnsNames, csr);
    const during: Approver = {
      ...approver,
      check: async () => {
        severable.link.cut();
        return await Promise.resolve({ approved: true });
      },
    };
    await worker(severable.source, ca, during).run(opened.issuanceId);
    expect(unexpectedErrors).toHaveLength(1);
    severable.link.restore();
    await eventually(async () => {
      const [row] = await database.query<[object]>(
        `SELECT state, due_at <= now() AS due, leased_until, failures FROM issuance WHERE id = $1`,
        [opened.issuanceId],
      );
      expect(row).toEqual({ state: 'open', due: true, leased_until: null, failures: 0 });
    });
  } finally {
    await severable.close();
  }
});

describe.each(['before', 'after'] as const)('the database connection fails %s a statement', (when) => {
  it('creates one certificate and one serial number, for every statement', async () => {
    const signings = new Set<string>();
    for (let nth = 1; ; nth += 1) {
      const opened = await openIssuance(repositories, dnsNames, csr);
      const faulty = new FaultyDatabase(asWorker, nth, when);
      await worker(faulty.source, issuing.caOver(faulty.source))
        .run(opened.issuanceId)
        .catch(() => undefined);
      await endLeasesAndWaits();
      await worker(asWorker).run(opened.issuanceId);
      const certificates = await certificatesOf(opened);
      expect({ nth, count: certificates.length }).toEqual({ nth, count: 1 });
      const rows = await database.query<{ serial: string }[]>(
        `SELECT encode(serial_number, 'hex') AS serial FROM ca_signing WHERE issuance_id = $1`,
        [opened.issuanceId],
      );
      expect(rows).toHaveLength(1);
      for (const { serial } of rows) signings.add(serial);
      expect(signings.size).toBe(nth);
      if (!faulty.struck) break;
    }
    expect(signings.size).toBeGreaterThan(8);
  }, 60_000);

  it('creates one certificate each when several issuances share transactions, for every statement', async () => {
    for (let nth = 1; ; nth += 1) {
      const opened = [];
      for (let count = 0; count < 3; count += 1) opened.push(await openIssuance(repositories, dnsNames, csr));
      const faulty = new FaultyDatabase(asWorker, nth, when);
      const struck = worker(faulty.source, issuing.caOver(faulty.source));
      await Promise.allSettled(opened.map(async ({ issuanceId }) => await struck.run(issuanceId)));
      await endLeasesAndWaits();
      const next = worker(asWorker);
      await Promise.all(opened.map(async ({ issuanceId }) => await next.run(issuanceId)));
      for (const each of opened) {
        expect({ nth, count: (await certificatesOf(each)).length }).toEqual({ nth, count: 1 });
      }
      if (!faulty.struck) return expect(nth).toBeGreaterThan(20);
    }
  }, 120_000);
});
