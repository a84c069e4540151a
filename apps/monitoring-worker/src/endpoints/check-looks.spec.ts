import { randomBytes } from 'node:crypto';
import { readIssued, tbsSha256 } from '@certwright/ct';
import type { PresentedLeaf } from '@certwright/endpoint-checks';
import { readCertificate } from '@certwright/pki';
import { createLogger, type RunningProcess } from '@certwright/service';
import type { Forged } from '@certwright/testing';
import { EndpointsFixture, hourMs, minuteMs } from '../testing/endpoints-fixture';
import { issuanceFor } from '../testing/findings-fixture';
import { ReadIndexFacts } from './index-facts';

jest.setTimeout(60_000);

const dayMs = 24 * hourMs;
const running = { log: createLogger('spec', 'fatal') } as unknown as RunningProcess;
let fixture: EndpointsFixture;
beforeAll(async () => {
  fixture = await EndpointsFixture.open();
  await fixture.findings.ct.query(
    `INSERT INTO ct_log (log_id, description, operator, kind, url, key_der, mmd_s, list_state, enabled, head_at, created_at)
     VALUES ($1, 'Log', 'Operator', 'static', 'https://log.example/', '', 86400, 'usable', true, now(), now() - interval '90 days')`,
    [randomBytes(32)],
  );
});
afterAll(async () => await fixture.close());

function read({ der }: Forged) {
  const reading = readCertificate(der);
  if (!reading.ok) throw new Error(reading.detail);
  return reading.certificate;
}

const tbsOf = ({ der }: Forged) => tbsSha256(readIssued(der, 'certificate'));

/** The index gets it, with its issuer. */
async function log(certificate: Forged, issuer: Forged): Promise<void> {
  const { subject, spkiDer, spkiSha256 } = read(issuer);
  const { notAfter, dnsNames, serialNumber } = read(certificate);
  await fixture.findings.find({}, [
    issuanceFor(dnsNames, {
      tbsSha256: tbsOf(certificate),
      ...{ notAfter, serial: Buffer.from(serialNumber, 'hex') },
      issuer: {
        spkiSha256: Buffer.from(spkiSha256, 'hex'),
        nameDer: Buffer.from(subject.der),
        certificateDer: issuer.der,
        spkiDer: Buffer.from(spkiDer),
      },
    }),
  ]);
}

async function revoke(certificate: Forged): Promise<void> {
  await fixture.findings.ct.query(
    `WITH issuer AS (SELECT issuer, serial FROM ct_issuance WHERE tbs_sha256 = decode($1, 'hex')),
     crl AS (INSERT INTO ct_crl (issuer, url, host, fresh_until)
       SELECT issuer, 'http://a/crl', 'a', now() + interval '1 day' FROM issuer RETURNING id)
     INSERT INTO ct_revocation (issuer, serial, crl, revoked_at, reason)
     SELECT issuer, serial, id, now() - interval '1 hour', 1 FROM issuer, crl`,
    [tbsOf(certificate)],
  );
}

/** The account's certificate for which it was issued `ago`. */
async function own(account: string, certificate: Forged, agoMs: number): Promise<void> {
  const [first] = read(certificate).dnsNames;
  const plan = await fixture.findings.terms(account, randomBytes(32).toString('hex'), [first ?? '']);
  await fixture.findings.core.query(
    `WITH chain AS (INSERT INTO certificate_chain (sha256, chain, root) VALUES ($4, $5, '') RETURNING sha256)
     INSERT INTO certificate (id, account_id, plan_id, imported, is_current, dns_names, key_type, serial_number,
       not_before, not_after, sha256, spki_sha256, leaf, chain_sha256, tbs_sha256, created_at)
     SELECT random_id(), $1, $2, true, true, $6, 'ecdsa', '01', $9, $9::timestamptz + interval '90 days', decode($3, 'hex'), $4, '', sha256,
       decode($7, 'hex'), $8 FROM chain`,
    [
      ...[account, plan, certificate.sha256, randomBytes(32), [fixture.ca.der], read(certificate).dnsNames],
      ...[tbsOf(certificate), new Date(fixture.now.getTime() - agoMs), new Date(Date.now() + minuteMs)],
    ],
  );
}

const codesOf = async (account: string, name: string) =>
  (await fixture.endpoint(account, name)).findings.map(({ code }) => code);

describe('a leaf in the index', () => {
  it('completes the path by its issuer, and is revoked if a list has it', async () => {
    const [certificate] = fixture.leaf('www.example.com');
    if (certificate === undefined) throw new Error('a leaf was forged');
    const account = await fixture.account('www.example.com');
    fixture.serve = () => [certificate];
    await fixture.step();
    expect(await codesOf(account, 'www.example.com')).toEqual(['untrusted']);
    await log(certificate, fixture.ca);
    await fixture.pass(10 * minuteMs);
    expect(await codesOf(account, 'www.example.com')).toEqual(['incomplete_chain']);
    await revoke(certificate);
    await fixture.pass(15 * minuteMs);
    expect(await codesOf(account, 'www.example.com')).toEqual(['incomplete_chain', 'revoked']);
  });

  it('of a CA that visitors do not trust is untrusted, whatever is presented', async () => {
    const root = fixture.forge.make({ isCa: true });
    const ca = fixture.forge.make({ by: root, isCa: true });
    const certificate = fixture.forge.make({ by: ca, dnsNames: ['b.example.com'] });
    await log(certificate, ca);
    await log(ca, root);
    const account = await fixture.account('b.example.com');
    for (const chain of [[certificate], [certificate, ca, root]]) {
      fixture.serve = () => chain;
      await fixture.pass(10 * minuteMs);
      expect(await codesOf(account, 'b.example.com')).toEqual(['untrusted']);
    }
  });
});

describe('certificates of the account', () => {
  it('should be served after a day, and complete paths', async () => {
    const [served, newer] = [fixture.leaf('a.example.com')[0], fixture.leaf('*.example.com')[0]];
    if (served === undefined || newer === undefined) throw new Error('leaves were forged');
    const account = await fixture.account('a.example.com');
    const other = await fixture.account('a.example.com');
    await own(account, newer, 23 * hourMs);
    fixture.serve = () => [served];
    // The index knows the CA by now; the first account's chain would do.
    await fixture.pass(45 * minuteMs);
    expect(await codesOf(account, 'a.example.com')).toEqual(['incomplete_chain']);
    // Not up to six hours later.
    await fixture.pass(45 * minuteMs);
    expect(await codesOf(account, 'a.example.com')).toEqual(['incomplete_chain', 'not_current']);
    expect(await codesOf(other, 'a.example.com')).toEqual(['incomplete_chain']);
    fixture.serve = () => [newer, fixture.ca];
    await fixture.pass(24 * hourMs);
    expect(await codesOf(account, 'a.example.com')).toEqual([]);
    await fixture.findings.core.query(
      `UPDATE certificate SET revoked_at = now(), revocation_reason = 1 WHERE account_id = $1`,
      [account],
    );
    await fixture.pass(7 * hourMs);
    expect(await codesOf(account, 'a.example.com')).toEqual(['revoked']);
  });
});

describe('whether a certificate is in no log', () => {
  const leaf = (notBeforeAgoMs: number): PresentedLeaf => ({
    ...{ sha256: randomBytes(32).toString('hex'), tbsSha256: randomBytes(32).toString('hex') },
    ...{ spkiSha256: '', dnsNames: [], notAfter: new Date(Date.now() + dayMs) },
    notBefore: new Date(Date.now() - notBeforeAgoMs),
  });

  it.each([
    ['is unknown while a log may still publish it', 2.9, 'all', null],
    ['is known when every log had to publish it', 3.1, 'all', false],
    ['is unknown if it is older than what is followed', 91, 'all', null],
    ['is unknown in an index of monitored names', 3.1, 'monitored', null],
  ] as const)('%s', async (_rule, daysAgo, scope, expected) => {
    const config = { CT_INDEX_SCOPE: scope, LEASE_TIME: 60_000 };
    const presented = leaf(daysAgo * dayMs);
    const { leaves } = await new ReadIndexFacts(fixture.findings.ctAsWorker, running, config).of(
      [presented],
      [],
    );
    expect(leaves.get(presented.sha256)?.isLogged).toBe(expected);
  });

  it('is unknown while the index is unavailable', async () => {
    const unavailable = { query: async () => await Promise.reject(new Error('no connection')) };
    const config = { CT_INDEX_SCOPE: 'all', LEASE_TIME: 60_000 } as const;
    const facts = new ReadIndexFacts(unavailable as never, running, config);
    expect((await facts.of([leaf(4 * dayMs)], [])).leaves.size).toBe(0);
  });
});
