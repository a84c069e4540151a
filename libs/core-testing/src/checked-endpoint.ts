import type { FindingCode, ServedAddress, TrackedFinding } from '@certwright/endpoint-checks';

interface Database {
  query(statement: string, parameters: unknown[]): Promise<unknown>;
}

const sha256 = 'ab'.repeat(32);
const validity = { notBefore: '2026-11-01T00:00:00.000Z', notAfter: '2027-01-30T00:00:00.000Z' };

/** A finding with each member of `parameters` that there is. */
const parameters: readonly [FindingCode, TrackedFinding['parameters']][] = [
  ['expired', { notAfter: validity.notAfter }],
  ['not_yet_valid', { notBefore: validity.notBefore }],
  ['wrong_name', { dnsNames: ['<b>\u202eother.example</b>'] }],
  ['weak', { reasons: ['RSA 1024', 'TLSv1'] }],
  ['revoked', { revokedAt: validity.notBefore }],
  ['not_current', { currentSha256: sha256 }],
  ['unknown_key', { tbsSha256: sha256, spkiSha256: sha256 }],
  ['unreachable', { reason: 'connect', problem: 'The connection was refused.' }],
];

const findings: readonly TrackedFinding[] = [
  ...parameters.map(([code, ofCode]) => ({
    code,
    parameters: ofCode,
    port: 443,
    addresses: ['192.0.2.1', '2001:db8::1'],
  })),
  { code: 'dangling' as const, parameters: { target: 'gone.example' }, port: null, addresses: [] },
].map((finding) => ({
  ...finding,
  level: 0,
  since: '2026-11-20T12:00:00.000Z',
  agreeing: 3,
  missing: 0,
  reportedAt: '2026-11-20T12:20:00.000Z',
  reportedLevel: 0,
}));

const served: readonly ServedAddress[] = [
  {
    address: '192.0.2.1',
    port: 443,
    certificate: {
      sha256,
      tbsSha256: sha256,
      spkiSha256: sha256,
      ...validity,
      dnsNames: ['<b>\u202eother.example</b>'],
    },
    chainSha256: [sha256],
    version: 'TLSv1.3',
    cipher: 'TLS_AES_128_GCM_SHA256',
    httpStatus: 200,
    problem: null,
  },
  {
    address: '2001:db8::1',
    port: 443,
    certificate: null,
    chainSha256: [],
    version: null,
    cipher: null,
    httpStatus: null,
    problem: 'The connection was refused.',
  },
];

/** An endpoint as the worker stores it after a check, with findings of every kind of parameter. */
export async function checkedEndpoint(database: Database, accountId: string, dnsName: string): Promise<void> {
  await database.query(
    `INSERT INTO monitored_endpoint (account_id, dns_name, state, state_since, looked_at, findings, served)
     VALUES ($1, $2, 'failing', '2026-11-20T12:20:00Z', '2026-11-20T18:00:00Z', $3, $4)
     ON CONFLICT (account_id, dns_name) DO UPDATE SET state = excluded.state, state_since = excluded.state_since,
       looked_at = excluded.looked_at, findings = excluded.findings, served = excluded.served`,
    [accountId, dnsName, JSON.stringify(findings), JSON.stringify(served)],
  );
}
