import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { encodePem, readCsr } from '@certwright/pki';
import { Issuing } from '../../testing/issuing';
import { leasedRequest } from '../../testing/leased-request';
import { openIssuance, opensslCsr } from '../../testing/opened-issuance';
import { BuiltInCa } from './built-in-ca';
import { CaIssuers } from './ca-issuers';
import { CaSignings } from './ca-signings';
import {
  activateIntermediate,
  CaRecords,
  createRoot,
  createSandboxCa,
  importIntermediate,
  requestIntermediate,
  retireIntermediate,
  type Root,
  signIntermediate,
} from './ceremony';
import { intermediateRequest, intermediateSubject } from './ceremony/intermediate-request';
import { parseCertificate } from './certificate-values';
import { Intermediates } from './intermediates';
import { CaKeyUnavailable, keyInMemory } from './keys/ca-key';
import { KeyFiles } from './keys/key-files';
import { observeIntermediates } from './observe-intermediates';
import { assemble } from './profile';
import { revocationListTbs } from './revocation-list';
import { RevocationLists } from './revocation-lists';

const dnsNames = ['renewal.example.com'];
const csr = opensslCsr(dnsNames);
const publicationUrl = 'http://127.0.0.1:4310/ca';

let issuing: Issuing;
let records: CaRecords;
let root: Root;
let folder: string;

beforeAll(async () => {
  issuing = await Issuing.open();
  folder = mkdtempSync(path.join(tmpdir(), 'certwright-renewal-'));
  records = new CaRecords(issuing.database);
  root = await createRoot('Renewal', 2048, new Date());
}, 60_000);
afterAll(async () => {
  await issuing.close();
  rmSync(folder, { recursive: true });
});

/** A copy of the worker, with the grants of its role. */
function copy(keyFolder = issuing.keyFolder): { ca: BuiltInCa; intermediates: Intermediates } {
  const intermediates = new Intermediates(
    new CaIssuers(issuing.asWorker),
    new KeyFiles(keyFolder),
    publicationUrl,
  );
  const ca = new BuiltInCa(
    intermediates,
    new CaSignings(issuing.asWorker),
    new RevocationLists(issuing.asWorker),
  );
  return { ca, intermediates };
}

/** The ceremony up to the import. @returns the name */
async function importNext(now = new Date()): Promise<string> {
  const keys = new KeyFiles(issuing.keyFolder);
  const { csr } = await requestIntermediate(records, keys, 'Renewal');
  const known = (await records.all()).find((issuer) => issuer.certificate.equals(root.certificate));
  const rootName = known?.name ?? (await records.nextRoot());
  const certificate = await signIntermediate(root, csr, { baseUrl: publicationUrl, rootName }, now);
  return (
    await importIntermediate(
      issuing.database,
      keys,
      { certificate, root: root.certificate, publicationUrl },
      now,
    )
  ).name;
}

async function submitted({ ca }: { ca: BuiltInCa }) {
  const opened = await openIssuance(issuing.repositories, dnsNames, csr);
  const { request } = await leasedRequest(issuing.asWorker, opened);
  return { request, reference: (await ca.submit(request)).reference };
}

async function issued(by: { ca: BuiltInCa }) {
  const { request, reference } = await submitted(by);
  return { reference, ...(await by.ca.collect(reference, request)).issued };
}

const issuerOf = (leaf: Uint8Array) => new X509Certificate(leaf).infoAccess?.match(/[\w-]+(?=\.cer)/)?.[0];

function openssl(...args: readonly string[]): string {
  return execFileSync('openssl', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

async function listOf(name: string): Promise<string> {
  writeFileSync(
    path.join(folder, 'list.pem'),
    encodePem('X509 CRL', (await records.revocationList(name)) ?? Buffer.of()),
  );
  return openssl('crl', '-in', 'list.pem', '-noout', '-text');
}

it('issues from the new intermediate without a restart; the old one still signs its revocation list', async () => {
  const [one, other] = [copy(), copy()];
  const before = await issued(one);
  await other.intermediates.refresh();
  const pending = await submitted(other);

  const next = await importNext();
  await one.intermediates.refresh();
  expect(issuerOf((await issued(one)).leaf)).toBe('intermediate');
  await activateIntermediate(records, next, new Date());
  await one.intermediates.refresh();
  const after = await submitted(one);

  // The other copy has not read the intermediates again: it does so for a signing that names an unknown one.
  const { leaf, chain, root: chainRoot } = (await other.ca.collect(after.reference, after.request)).issued;
  expect(issuerOf(leaf)).toBe(next);
  const files = { leaf: [leaf], chain, root: [chainRoot] };
  for (const [name, ders] of Object.entries(files))
    writeFileSync(
      path.join(folder, `${name}.pem`),
      ders.map((der) => encodePem('CERTIFICATE', der)).join(''),
    );
  expect(
    openssl('verify', '-x509_strict', '-CAfile', 'root.pem', '-untrusted', 'chain.pem', 'leaf.pem'),
  ).toContain('OK');
  expect(chainRoot).toEqual(root.certificate);

  // What was recorded before is signed as it was recorded.
  expect(issuerOf((await one.ca.collect(pending.reference, pending.request)).issued.leaf)).toBe(
    'intermediate',
  );

  await one.ca.revoke(before.reference, { reason: 4 });
  await other.ca.revoke(after.reference, { reason: 1 });
  await one.ca.renewRevocationLists();
  const [old, fresh] = [await listOf('intermediate'), await listOf(next)];
  const [oldSerial, freshSerial] = [before.leaf, leaf].map((der) => new X509Certificate(der).serialNumber);
  expect([old.includes(oldSerial ?? '?'), old.includes(freshSerial ?? '?')]).toEqual([true, false]);
  expect([fresh.includes(oldSerial ?? '?'), fresh.includes(freshSerial ?? '?')]).toEqual([false, true]);

  await activateIntermediate(records, 'intermediate', new Date());
  await one.intermediates.refresh();
  expect(issuerOf((await issued(one)).leaf)).toBe('intermediate');
});

it('a key that fails does not delay the revocation lists of the other intermediates', async () => {
  const next = await importNext();
  const { intermediates } = copy();
  await intermediates.refresh();
  const sign = async () => await Promise.reject(new CaKeyUnavailable('the token has no such key'));
  const all = intermediates.all.map((each) =>
    each.name === next ? each : { ...each, key: { ...each.key, sign } },
  );
  const ca = new BuiltInCa(
    { all } as never,
    new CaSignings(issuing.asWorker),
    new RevocationLists(issuing.asWorker),
  );
  await issuing.database.query(`UPDATE ca_issuer SET crl_made_at = NULL WHERE name LIKE 'intermediate%'`);
  await expect(ca.renewRevocationLists()).rejects.toThrow('the token has no such key');
  const stale: { name: string }[] = await issuing.database.query(
    `SELECT name FROM ca_issuer WHERE name LIKE 'intermediate%' AND crl_made_at IS NULL`,
  );
  expect(stale.map(({ name }) => name)).not.toContain(next);
  expect(stale).not.toEqual([]);
});

it('a copy without the key of a stored intermediate has one line with the setting; it issues with the others', async () => {
  const [withKeys, without] = [copy(), copy(path.join(folder, 'nowhere'))];
  await withKeys.intermediates.refresh();
  await without.intermediates.refresh();
  expect(withKeys.intermediates.problems).toEqual([]);
  expect(without.intermediates.problems[0]).toMatch(
    /^BUILT_IN_CA_DIR: .*intermediate\.key cannot be read \(ENOENT\)/,
  );
  await expect(submitted(without)).rejects.toThrow('BUILT_IN_CA_DIR');

  // A key that worked is kept while its file is missing, and the copy is not ready.
  const file = path.join(issuing.keyFolder, 'intermediate.key');
  renameSync(file, `${file}.lost`);
  await withKeys.intermediates.refresh();
  expect(withKeys.intermediates.problems).toHaveLength(1);
  expect(issuerOf((await issued(withKeys)).leaf)).toBe('intermediate');
  const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  writeFileSync(file, other.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  await withKeys.intermediates.refresh();
  expect(withKeys.intermediates.problems[0]).toMatch(
    /^BUILT_IN_CA_DIR: .*is another key than that of the certificate "intermediate"/,
  );
  renameSync(`${file}.lost`, file);
  await withKeys.intermediates.refresh();
  expect(withKeys.intermediates.problems).toEqual([]);
});

it('a retired intermediate needs no key; one whose certificates are valid cannot be retired', async () => {
  const next = await importNext();
  await activateIntermediate(records, next, new Date());
  const [at, later] = [new Date(), new Date(Date.now() + 11 * 60_000)];
  await expect(retireIntermediate(records, 'intermediate', at)).rejects.toThrow('may still issue');
  await expect(retireIntermediate(records, 'intermediate', later)).rejects.toThrow(
    'need its revocation list until',
  );
  await issuing.database.query(
    `UPDATE ca_signing SET not_after = now() - interval '8 days' WHERE issuer = 'intermediate'`,
  );
  await retireIntermediate(records, 'intermediate', later);
  const keyFolder = path.join(folder, 'without-the-first');
  execFileSync('cp', ['-a', issuing.keyFolder, keyFolder]);
  rmSync(path.join(keyFolder, 'intermediate.key'));
  const { intermediates } = copy(keyFolder);
  await intermediates.refresh();
  expect(intermediates.problems).toEqual([]);
  expect(intermediates.all.map(({ name }) => name)).not.toContain('intermediate');
});

it('concurrent creation of a sandbox creates one CA', async () => {
  const fresh = await Issuing.open();
  await fresh.database.query(`DELETE FROM ca_issuer`);
  const keys = new KeyFiles(path.join(folder, 'sandbox'));
  const create = async () =>
    await createSandboxCa(fresh.database, keys, { name: 'Spec', publicationUrl }, new Date());
  expect((await Promise.all([create(), create(), create()])).sort()).toEqual([false, false, true]);
  await fresh.close();
});

it('works before the migration "ca-keys", as with the previous release', async () => {
  const earlier = await Issuing.open();
  const runner = earlier.database.createQueryRunner();
  await earlier.database.migrations.find(({ name }) => name?.startsWith('CaKeys'))?.down(runner);
  await runner.release();
  const before = await issuedBy(earlier);
  await earlier.ca.revoke(before.reference, { reason: 4 });
  await earlier.ca.renewRevocationLists();
  const [{ crl }] = await earlier.database.query<[{ crl: Buffer }]>(
    `SELECT crl FROM ca_issuer WHERE name = 'intermediate'`,
  );
  writeFileSync(path.join(folder, 'earlier.pem'), encodePem('X509 CRL', crl));
  const { serialNumber } = new X509Certificate(before.leaf);
  expect(openssl('crl', '-in', 'earlier.pem', '-noout', '-text')).toContain(serialNumber);
  await earlier.close();
});

async function issuedBy(other: Issuing) {
  const opened = await openIssuance(other.repositories, dnsNames, csr);
  const { request } = await leasedRequest(other.asWorker, opened);
  const { reference } = await other.caOver(other.asWorker).submit(request);
  return { reference, ...(await other.ca.collect(reference, request)).issued };
}

it('common names of the CA have at most 64 characters, with the longest BUILT_IN_CA_NAME', async () => {
  const longest = 'Ü'.repeat(48);
  const { certificate } = await createRoot(longest, 2048, new Date());
  const { spki } = await new KeyFiles(path.join(folder, 'longest')).create('intermediate');
  const request = await intermediateRequest(
    { spki, sign: async () => await Promise.resolve(Buffer.of()) },
    intermediateSubject(longest, spki),
  );
  const reading = readCsr(request);
  const commonNames = [
    parseCertificate(certificate).subject.typesAndValues[1]?.value.valueBlock.value as string,
    reading.ok ? (reading.csr.commonNames[0] ?? '') : '',
  ];
  expect(commonNames[0]).toMatch(/^Ü{48} Root [0-9A-F]{8}$/);
  expect(commonNames[1]).toMatch(/^Ü{42} Intermediate [0-9A-F]{8}$/);
});

it('a worker before the ceremony has one line that names what to do', async () => {
  const { intermediates } = copy();
  const nothing = new Intermediates(
    {
      all: async () => await Promise.resolve([]),
      longestLifetimeDays: async () => await Promise.resolve(90),
    },
    new KeyFiles(folder),
    publicationUrl,
  );
  await nothing.refresh();
  expect(nothing.problems).toEqual([
    expect.stringMatching(/^BUILT_IN_CA: no intermediate is stored\..*operating\.md/),
  ]);
  await expect(nothing.current()).rejects.toThrow('no intermediate is stored');
  expect(intermediates.problems).toHaveLength(1);
});

it('an end that comes near is an alarm, once a day', () => {
  const lines: object[] = [];
  const log = { error: (members: object) => void lines.push(members), info: () => undefined };
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000);
  const ends = [
    { issuer: 'root', what: 'revocation_list', at: inDays(29) },
    { issuer: 'root', what: 'certificate', at: inDays(5_000) },
    { issuer: 'intermediate', what: 'revocation_list', at: inDays(6) },
    { issuer: 'intermediate', what: 'certificate', at: inDays(80) },
    { issuer: 'intermediate', what: 'full_lifetime', at: inDays(89) },
    { issuer: 'intermediate-2', what: 'full_lifetime', at: inDays(91) },
  ];
  const registry = { registerMetric: () => undefined };
  const running = { log, metrics: { registry }, readiness: { add: () => undefined } };
  const observe = observeIntermediates(running as never, { problems: [], ends: ends as never });
  observe();
  observe();
  expect(lines).toMatchObject([
    { issuer: 'root', what: 'revocation_list' },
    { issuer: 'intermediate', what: 'certificate' },
    { issuer: 'intermediate', what: 'full_lifetime' },
  ]);
});

it('certificates have their full lifetime until the longest of a product before the end of the active intermediate', async () => {
  const [one, former] = [
    copy(),
    (
      await issuing.database.query<[{ name: string }]>(
        `SELECT name FROM ca_issuer ORDER BY activated_at DESC NULLS LAST`,
      )
    )[0].name,
  ];
  const next = await importNext();
  const lasting = async () => {
    await one.intermediates.refresh();
    return one.intermediates.ends.filter(({ what }) => what === 'full_lifetime');
  };
  expect(await lasting()).toMatchObject([{ issuer: former }]);
  await activateIntermediate(records, next, new Date());
  const days = async () => {
    const ends = await lasting();
    const { notAfter } = await one.intermediates.current();
    expect(ends.map(({ issuer }) => issuer)).toEqual([next]);
    return (notAfter.getTime() - (ends[0]?.at.getTime() ?? 0)) / 86_400_000;
  };
  const set = async (values: string) =>
    await issuing.database.query(`UPDATE product SET ${values} WHERE name = 'paid_ca'`);
  await set(`lifetime_days = 397, available = true, certificate_authority = 'built-in'`);
  expect(await days()).toBe(397);
  await set(`certificate_authority = 'other'`);
  expect(await days()).toBe(90);
  await set(`authorities = '[{"name": "other", "profile": null}, {"name": "built-in", "profile": null}]'`);
  expect(await days()).toBe(397);
  await set(`available = false`);
  expect(await days()).toBe(90);
});

/** As a mass revocation leaves them. */
function manyRevoked(count: number, revokedAt: Date) {
  return Array.from({ length: count }, (_, index) => {
    const serialNumber = Buffer.alloc(16, 0x41);
    serialNumber.writeUInt32BE(index, 12);
    return { serialNumber, revokedAt, reason: 1 };
  });
}

it('a revocation list of a mass revocation is longer than 64 KiB', async () => {
  const now = new Date(Math.floor(Date.now() / 1_000) * 1_000);
  const draft = { number: 9n, revoked: manyRevoked(3_000, now), now };
  const tbs = revocationListTbs(draft, now, parseCertificate(root.certificate));
  const der = assemble(tbs, await keyInMemory(root.key).sign(tbs));
  expect(der.length).toBeGreaterThan(65_536);
  writeFileSync(path.join(folder, 'long.pem'), encodePem('X509 CRL', der));
  writeFileSync(path.join(folder, 'renewal-root.pem'), encodePem('CERTIFICATE', root.certificate));
  const text = openssl('crl', '-in', 'long.pem', '-noout', '-text', '-CAfile', 'renewal-root.pem');
  expect(text.match(/Serial Number/g)).toHaveLength(3_000);
});

it('a revocation list of a mass revocation is made long before the server ends its transaction', () => {
  const now = new Date();
  const draft = { number: 9n, revoked: manyRevoked(100_000, now), now };
  const issuer = parseCertificate(root.certificate);
  const begun = process.cpuUsage();
  expect(revocationListTbs(draft, now, issuer).length).toBeGreaterThan(4_500_000);
  const { user, system } = process.cpuUsage(begun);
  // idle_in_transaction_session_timeout is 10 s, and the process does nothing else meanwhile. In µs.
  expect(user + system).toBeLessThan(5_000_000);
});
