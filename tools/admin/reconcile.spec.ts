import { execFileSync } from 'node:child_process';
import { randomBytes, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Outbox, Transactions } from '@certwright/core-schema';
import { packBody } from '@certwright/ct-index';
import { ctDataSource } from '@certwright/ct-schema';
import { BlockedKeys, Issuances, LeasedIssuances, Plans } from '@certwright/ordering';
import { readCertificate } from '@certwright/pki';
import { issuanceCommands } from './issuances';
import { AdminFixture, adminFixture } from './testing/admin-fixture';
import type { WithDatabase } from './with-database';

const admin = adminFixture();
const ct = new AdminFixture();
beforeAll(async () => await ct.open(ctDataSource), 30_000);
afterAll(async () => await ct.close());
const accountId = '1000000000001';
const otherAccountId = '1000000000002';
const folder = mkdtempSync(path.join(tmpdir(), 'certwright-reconcile-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (name: string) => path.join(folder, name);
const openssl = (...args: readonly string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });

const lost = 'lost.example.com';
const unknown = 'unknown.example.com';
const logged = 'logged.example.com';

/** An intermediate, and certificates of it that the database lacks. */
beforeAll(async () => {
  openssl(
    ...'req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=Intermediate -days 30'.split(
      ' ',
    ),
  );
  for (const name of [lost, unknown, logged]) {
    openssl(
      ...`req -newkey rsa:2048 -nodes -keyout ${name}.key -out ${name}.csr -subj /CN=${name}`.split(' '),
    );
    writeFileSync(file('extensions'), `subjectAltName=DNS:${name}\n`);
    openssl(
      ...`x509 -req -in ${name}.csr -CA ca.pem -CAkey ca.key -set_serial 0x4${randomBytes(7).toString('hex')}0 -days 20 -sha256`.split(
        ' ',
      ),
      ...`-extfile extensions -out ${name}.pem`.split(' '),
    );
  }
  writeFileSync(
    file('all.pem'),
    [lost, unknown].map((name) => readFileSync(file(`${name}.pem`), 'utf8')).join(''),
  );
  const { database } = admin;
  await database.query(`INSERT INTO account (id, name) VALUES ($1, 'One')`, [accountId]);
  await database.query(`INSERT INTO deployment (mode) VALUES ('sandbox')`);
  await database.query(`INSERT INTO ca_issuer (name, certificate) VALUES ('intermediate', $1)`, [
    new X509Certificate(readFileSync(file('ca.pem'))).raw,
  ]);
}, 60_000);

const commands = (withDatabase: WithDatabase) =>
  issuanceCommands(withDatabase, async (work) => await work(ct.database));
const run = async (...args: string[]) => (await admin.run([commands], 'issuance', ...args)).join('\n');
const certificateOf = (name: string) => {
  const reading = readCertificate(new X509Certificate(readFileSync(file(`${name}.pem`))).raw);
  if (!reading.ok) throw new Error(reading.detail);
  return reading.certificate;
};

/** @returns the id of an open issuance for the key of the certificate */
async function opened(name: string): Promise<string> {
  const { database } = admin;
  const spkiSha256 = Buffer.from(certificateOf(name).spkiSha256, 'hex');
  return await new Transactions(database).run(async (tx) => {
    const planId = await new Plans().create(tx, {
      ...{ accountId, autoRenew: true, muted: false, paused: false },
      downloadToken: randomBytes(16).toString('hex'),
    });
    const key = { keyType: 'rsa' as const, csr: Buffer.of(1), spkiSha256 };
    const terms = { product: 'free_ca', dnsNames: [name], approverEmails: {}, approvalWays: null, ...key };
    const termsId = await new Plans().setTerms(tx, planId, terms);
    const opening = { planId, accountId, revision: 1, termsId, dnsNames: [name], settlingMs: 0 };
    return await new Issuances(database, new Outbox(database)).open(tx, opening);
  });
}

describe('issuance reconcile', () => {
  it('requires that issuances are held', async () => {
    await run('release');
    await expect(run('reconcile', '--no-index', '--certificates', file('all.pem'))).rejects.toThrow(
      'Issuances are not held',
    );
  });

  it('lets the agents of clusters begin again, since they may know changes that are lost', async () => {
    const { database } = admin;
    await database.query(
      `INSERT INTO cluster (account_id, name, version) VALUES ($1, 'web', 7), ($1, 'empty', 7)`,
      [accountId],
    );
    await database.query(
      `WITH token AS (
         INSERT INTO cluster_enrolment (account_id, cluster, token_sha256, uses, expires_at)
         VALUES ($1, 'web', 'x', 1, now()) RETURNING id)
       INSERT INTO agent (id, account_id, cluster, identity_key, sealing_key, enrolment_id, name, version, platform)
       SELECT 'one', $1, 'web', $2, $2, id, 'host', '1', 'linux' FROM token`,
      [accountId, randomBytes(32)],
    );
    await run('hold', '--reason', 'restored');
    const versions = async () =>
      await database.query(
        `SELECT name, version::int, reset_before::int AS reset FROM cluster ORDER BY name`,
      );
    const before = await versions();
    await run('reconcile', '--no-index', '--dry-run');
    expect(await versions()).toEqual(before);
    await run('reconcile', '--no-index');
    const [, { version }] = before as [unknown, { version: number }];
    const reached = version + 1_000_000;
    expect(await versions()).toEqual([before[0], { name: 'web', version: reached, reset: reached }]);
    await run('release');
  });

  it('continues the numbers of revocation lists above lost ones, also when a worker that held by itself has made a list', async () => {
    const { database } = admin;
    await run('hold', '--reason', 'restored');
    await database.query(`UPDATE ca_issuer SET crl_number = 7, crl_made_at = clock_timestamp()`);
    const state = async () =>
      await database.query(`SELECT crl_number AS number, crl_made_at IS NULL AS "isDue" FROM ca_issuer`);
    await run('reconcile', '--no-index', '--dry-run');
    expect(await state()).toEqual([{ number: '7', isDue: false }]);
    await run('reconcile', '--no-index');
    expect(await state()).toEqual([{ number: '100007', isDue: true }]);
    await run('release');
  });

  it('records a lost certificate for its issuance, and lists one without order', async () => {
    const { database } = admin;
    const id = await opened(lost);
    await run('hold', '--reason', 'restored');
    expect(await new LeasedIssuances(database).lease(id, 1_000)).toBeNull();
    const args = ['reconcile', '--no-index', '--certificates', file('all.pem')];
    expect(await run(...args, '--dry-run')).toContain(
      '2 certificates of the built-in CA were missing: 1 recorded',
    );
    expect(await database.query(`SELECT FROM ca_signing`)).toEqual([]);
    const printed = await run(...args);
    expect(printed).toContain(`without order\t${certificateOf(unknown).serialNumber}\t${unknown}`);
    const rows = await database.query(
      `SELECT issuance_id AS id, encode(serial_number, 'hex') AS serial, tbs, issuer, ca_reference AS reference
       FROM ca_signing JOIN issuance ON issuance.id = issuance_id`,
    );
    const { serialNumber, tbsDer } = certificateOf(lost);
    const signing = { serial: serialNumber, tbs: Buffer.from(tbsDer), issuer: 'intermediate' };
    expect(rows).toEqual([{ id, reference: id, ...signing }]);
    // The customer repeats the order, and the command is repeated.
    const again = await opened(unknown);
    expect(await run(...args)).toContain('1 certificates of the built-in CA were missing: 1 recorded');
    expect(await run(...args)).toContain('0 certificates of the built-in CA were missing');
    expect(await database.query(`SELECT FROM ca_signing WHERE issuance_id = $1`, [again])).toHaveLength(1);
    await run('release');
    expect(await new LeasedIssuances(database).lease(id, 1_000)).not.toBeNull();
  });

  it('searches the index from the restore point also after orders were repeated', async () => {
    const { database } = admin;
    await run('hold', '--reason', 'restored');
    // Restored three hours ago; the certificate was logged before, and its order was repeated just now.
    await database.query(`UPDATE deployment SET held_since = now() - interval '3 hours'`);
    await database.query(
      `UPDATE issuance SET state = 'canceled', closed_at = now(), opened_at = now() - interval '5 hours' WHERE state = 'open'`,
    );
    const id = await opened(logged);
    await ct.database.query(`CREATE TABLE ct_issuance_all PARTITION OF ct_issuance DEFAULT`);
    await ct.database.query(
      `INSERT INTO ct_issuer (spki_sha256, name_der, name_sha256) VALUES ($1, '', sha256(''))`,
      [Buffer.from(certificateOf('ca').spkiSha256, 'hex')],
    );
    const { spkiSha256, notBefore, notAfter, serialNumber } = certificateOf(logged);
    await ct.database.query(
      `INSERT INTO ct_issuance (position, tbs_sha256, cert_sha256, precertificate, spki_sha256, issuer, serial, not_before,
         not_after, discovered_at, dns_names, body)
       SELECT 1, sha256(''), sha256(''), false, $1, id, $2, $3, $4, now() - interval '4 hours', $5, $6 FROM ct_issuer`,
      [
        Buffer.from(spkiSha256, 'hex'),
        Buffer.from(serialNumber, 'hex'),
        notBefore,
        notAfter,
        [logged],
        packBody(new X509Certificate(readFileSync(file(`${logged}.pem`))).raw, 'none'),
      ],
    );
    await ct.database.query(`UPDATE ct_sequence SET next = 2`);
    expect(await run('reconcile')).toContain('1 certificates of the built-in CA were missing: 1 recorded');
    expect(await database.query(`SELECT FROM ca_signing WHERE issuance_id = $1`, [id])).toHaveLength(1);
    await run('release');
  });

  it('counts a certificate once that is in several files, and records it when the transaction is repeated', async () => {
    const { database } = admin;
    await database.query(`DELETE FROM ca_signing`);
    await database.query(`UPDATE plan SET closed_at = now()`);
    const id = await opened(lost);
    await run('hold', '--reason', 'restored');
    // The first attempt ends as a victim of a deadlock.
    await database.query(`CREATE SEQUENCE attempts`);
    await database.query(
      `CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN
         IF nextval('attempts') = 1 THEN RAISE EXCEPTION 'deadlock' USING ERRCODE = '40P01'; END IF;
         RETURN NEW;
       END $$`,
    );
    await database.query(
      `CREATE TRIGGER fail_once BEFORE INSERT ON ca_signing FOR EACH ROW EXECUTE FUNCTION fail_once()`,
    );
    const args = [
      'reconcile',
      '--no-index',
      '--certificates',
      file('all.pem'),
      '--certificates',
      file('all.pem'),
    ];
    const expected =
      '2 certificates of the built-in CA were missing: 1 recorded for their issuances, 1 without order;';
    expect(await run(...args, '--dry-run')).toContain(expected);
    expect(await run(...args)).toContain(expected);
    expect(await database.query(`SELECT FROM ca_signing WHERE issuance_id = $1`, [id])).toHaveLength(1);
    await run('release');
  });

  it('makes a report of a compromised key again that had replaced another reason', async () => {
    const { database } = admin;
    const { serialNumber, tbsDer, spkiSha256, dnsNames, notBefore, notAfter } = certificateOf(unknown);
    const key = Buffer.from(spkiSha256, 'hex');
    const id = await opened(unknown);
    await database.query(`UPDATE issuance SET state = 'issued', closed_at = now() WHERE id = $1`, [id]);
    await database.query(`DELETE FROM ca_signing`);
    await database.query(
      `INSERT INTO ca_signing (issuance_id, serial_number, tbs, issuer, not_after, revoked_at, revocation_reason)
       VALUES ($1, $2, $3, 'intermediate', $4, now(), 4)`,
      [id, Buffer.from(serialNumber, 'hex'), Buffer.from(tbsDer), notAfter],
    );
    await database.query(
      `WITH chain AS (INSERT INTO certificate_chain (sha256, chain, root) VALUES (sha256(''), '{}', '') RETURNING sha256)
       INSERT INTO certificate (id, account_id, plan_id, issuance_id, ca_reference, imported, is_current, dns_names, key_type,
         serial_number, not_before, not_after, sha256, spki_sha256, leaf, chain_sha256, revoked_at, revocation_reason)
       SELECT random_id(), $1, plan_id, issuance.id, issuance.id::text, false, false, $3, 'rsa', $4, $5, $6, sha256(''), $7, '',
         chain.sha256, now(), 4 FROM issuance CROSS JOIN chain WHERE issuance.id = $2`,
      [accountId, id, dnsNames, serialNumber, notBefore, notAfter, key],
    );
    writeFileSync(file('index.txt'), '');
    writeFileSync(
      file('ca.cnf'),
      '[ca]\ndefault_ca = own\n[own]\ndatabase = index.txt\ncertificate = ca.pem\nprivate_key = ca.key\ndefault_md = sha256\n',
    );
    openssl(...`ca -config ca.cnf -revoke ${unknown}.pem -crl_reason keyCompromise`.split(' '));
    openssl(...'ca -config ca.cnf -gencrl -crldays 1 -out list.pem'.split(' '));
    await run('hold', '--reason', 'restored');
    const args = ['reconcile', '--no-index', '--revocation-list', file('list.pem')];
    expect(await run(...args, '--dry-run')).toContain('1 revoked again');
    expect(await run(...args)).toContain('1 revoked again');
    const reasons = await database.query(
      `SELECT ca_signing.revocation_reason AS signing, certificate.revocation_reason AS certificate
       FROM ca_signing JOIN certificate USING (issuance_id)`,
    );
    expect(reasons).toEqual([{ signing: 1, certificate: 1 }]);
    const blocked = new BlockedKeys(database);
    expect(await blocked.has(key, accountId)).toBe(true);
    expect(await blocked.has(key, otherAccountId)).toBe(false);
    expect(await run(...args)).toContain('0 revoked again');
    await run('release');
  });

  it('changes nothing when a later file cannot be used', async () => {
    const { database } = admin;
    await database.query(`DELETE FROM ca_signing`);
    await database.query(`UPDATE plan SET closed_at = now()`);
    await opened(lost);
    await run('hold', '--reason', 'restored');
    const args = ['reconcile', '--no-index', '--certificates', file('all.pem')];
    for (const [option, name, message] of [
      ['--revocation-list', 'all.pem', 'is no revocation list'],
      ['--revocation-list', 'missing.crl', 'missing.crl'],
      ['--certificates', 'missing.pem', 'missing.pem'],
    ] as const)
      await expect(run(...args, option, file(name))).rejects.toThrow(message);
    expect(await database.query(`SELECT FROM ca_signing`)).toEqual([]);
    await run('release');
  });

  it('refuses a certificate of another CA', async () => {
    openssl(
      ...'req -x509 -newkey rsa:2048 -nodes -keyout o.key -out other.pem -subj /CN=Other -addext basicConstraints=CA:FALSE'.split(
        ' ',
      ),
    );
    await run('hold', '--reason', 'restored');
    await expect(run('reconcile', '--no-index', '--certificates', file('other.pem'))).rejects.toThrow(
      'certificate 1 was not issued by the built-in CA',
    );
  });
});
