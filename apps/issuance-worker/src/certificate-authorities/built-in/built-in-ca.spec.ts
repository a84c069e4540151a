import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { coreDataSource, Outbox, Transactions } from '@certwright/core-schema';
import { Delegations } from '@certwright/approvals';
import { Issuances, LeasedIssuances, Plans } from '@certwright/ordering';
import { encodePem } from '@certwright/pki';
import { LeaseLost } from '@certwright/postgres';
import { testDatabase } from '@certwright/testing';
import type { DataSource } from 'typeorm';
import { openBuiltInCa } from '../../testing/built-in-ca';
import { openIssuance, opensslCsr } from '../../testing/opened-issuance';
import type { IssuedChain } from '../certificate-authority';
import { BuiltInCa, type LeafRequest } from './built-in-ca';
import { KeyFiles } from './keys/key-files';

const dnsNames = ['*.example.com', 'example.com'];
const settings = { name: 'Spec & Söhne', publicationUrl: 'http://ca.example.net/ca' };

let folder: string;
let database: DataSource;
let asWorker: DataSource;
let close: () => Promise<void>;
let ca: BuiltInCa;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'certwright-built-in-ca-'));
  const test = await testDatabase();
  const options = { applicationName: 'spec', poolSize: 5, statementTimeoutMs: 10_000 };
  database = await coreDataSource({ url: test.url, ...options }).initialize();
  asWorker = await coreDataSource({ url: test.urlOf('issuance-worker'), ...options }).initialize();
  close = async () => {
    await Promise.all([database.destroy(), asWorker.destroy()]);
    await test.dispose();
  };
  ca = await open();
}, 30_000);

afterAll(async () => {
  await close();
  rmSync(folder, { recursive: true });
});

async function open(): Promise<BuiltInCa> {
  const keys = new KeyFiles(path.join(folder, 'keys'));
  return (await openBuiltInCa({ owner: database, worker: asWorker, keys, ...settings })).ca;
}

async function leasedRequest(changes: Partial<LeafRequest> = {}): Promise<LeafRequest> {
  const repositories = {
    transactions: new Transactions(database),
    plans: new Plans(),
    issuances: new Issuances(database, new Outbox(database)),
    delegations: new Delegations(database),
  };
  const { issuanceId } = await openIssuance(repositories, ['example.com'], opensslCsr(dnsNames));
  const work = await new LeasedIssuances(asWorker).lease(issuanceId, 15_000);
  if (work === null) throw new Error('a new issuance can be leased');
  const { lease, terms, now } = work;
  const request = {
    lease,
    dnsNames,
    keyType: terms.keyType,
    csr: terms.csr,
    lifetimeDays: 90,
    expiresBy: null,
    subjectCommonName: false,
    now,
  };
  return { ...request, ...changes };
}

async function issueWithReference(): Promise<{ readonly reference: string; readonly issued: IssuedChain }> {
  const request = await leasedRequest();
  const { reference } = await ca.submit(request);
  const collected = await ca.collect(reference, request);
  return { reference, issued: collected.issued };
}

async function issue(changes: Partial<LeafRequest> = {}): Promise<IssuedChain> {
  const request = await leasedRequest(changes);
  const collected = await ca.collect((await ca.submit(request)).reference, request);
  return collected.issued;
}

it('extends the lease while a signature takes long, and ends when the lease is lost', async () => {
  jest.useFakeTimers();
  try {
    const signature = Promise.withResolvers<Buffer>();
    const key = { sign: async () => await signature.promise };
    const byName = async () => await Promise.resolve({ key, certificate: Buffer.of(1), root: Buffer.of(2) });
    const recorded = { tbs: Buffer.of(3), issuer: 'intermediate' };
    const signings = { recordedFor: async () => await Promise.resolve(recorded) };
    const slow = new BuiltInCa({ byName } as never, signings as never, undefined as never);
    const hold = jest.fn(async () => await Promise.resolve());
    const lease = { issuanceId: '1', token: '1' };
    const [kept, lost] = [
      slow.collect('1', { lease, hold }),
      slow.collect('1', {
        lease,
        hold: async () => await Promise.reject(new LeaseLost('issuance', '1', '1')),
      }),
    ];
    const ends = expect(lost).rejects.toThrow(LeaseLost);
    await jest.advanceTimersByTimeAsync(3_000);
    expect(hold).not.toHaveBeenCalled();
    await jest.advanceTimersByTimeAsync(9_000);
    expect(hold).toHaveBeenCalledTimes(3);
    await ends;
    signature.resolve(Buffer.of(4));
    expect((await kept).issued.chain).toEqual([Buffer.of(1)]);
    expect(jest.getTimerCount()).toBe(0);
  } finally {
    jest.useRealTimers();
  }
});

function pemFile(name: string, ...ders: readonly Uint8Array[]): string {
  const file = path.join(folder, name);
  writeFileSync(file, ders.map((der) => encodePem('CERTIFICATE', der)).join(''));
  return file;
}

const openssl = (...args: readonly string[]) =>
  execFileSync('openssl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

describe('a certificate of the built-in CA', () => {
  it('is accepted by openssl under the root, for its names and the purpose of a TLS server', async () => {
    const { leaf, chain, root } = await issue();
    const args = ['-CAfile', pemFile('root.pem', root), '-untrusted', pemFile('chain.pem', ...chain)];
    const strict = ['-x509_strict', '-purpose', 'sslserver', '-verify_hostname', 'www.example.com'];
    expect(openssl('verify', ...args, ...strict, pemFile('leaf.pem', leaf))).toContain('OK');
  });

  it('has the profile of the Baseline Requirements', async () => {
    const text = openssl('x509', '-noout', '-text', '-in', pemFile('leaf.pem', (await issue()).leaf));
    expect(text).toContain('Version: 3');
    expect(text).toMatch(/Subject: *\n/);
    expect(text).toMatch(/Subject Alternative Name: critical\s+DNS:\*\.example\.com, DNS:example\.com\n/);
    expect(text).toMatch(/Extended Key Usage: *\n\s+TLS Web Server Authentication\n/);
    expect(text).toMatch(/Key Usage: critical\s+Digital Signature\n/);
    expect(text).toMatch(/Basic Constraints: critical\s+CA:FALSE/);
    expect(text).toContain('X509v3 Subject Key Identifier');
    expect(text).toContain('X509v3 Authority Key Identifier');
    expect(text).toContain('CA Issuers - URI:http://ca.example.net/ca/intermediate.cer');
    expect(text).toContain('URI:http://ca.example.net/ca/intermediate.crl');
    expect(text).toContain('Policy: 2.23.140.1.2.1');
  });

  it('has the first name as common name if the product requires it, with a SAN that is not critical', async () => {
    const { leaf } = await issue({ subjectCommonName: true });
    expect(new X509Certificate(leaf).subject).toBe('CN=*.example.com');
    expect(openssl('x509', '-noout', '-text', '-in', pemFile('cn.pem', leaf))).toMatch(
      /Subject Alternative Name: *\n/,
    );
  });

  it('is valid for exactly the lifetime of the product, from a moment in the past', async () => {
    const { validFrom, validTo } = new X509Certificate((await issue({ lifetimeDays: 365 })).leaf);
    expect(Date.parse(validTo) + 1_000 - Date.parse(validFrom)).toBe(365 * 24 * 60 * 60 * 1_000);
    expect(Date.parse(validFrom)).toBeLessThan(Date.now());
  });

  it('ends with the paid period and stays identical byte for byte', async () => {
    const expiresBy = new Date(Date.now() + 30 * 24 * 60 * 60 * 1_000);
    const request = await leasedRequest({ lifetimeDays: 365, expiresBy });
    const { reference } = await ca.submit(request);
    const later = { ...request, now: new Date(request.now.getTime() + 60_000) };
    expect((await ca.submit(later)).reference).toBe(reference);
    const [first, second] = [
      await ca.collect(reference, later),
      await (await open()).collect(reference, later),
    ];
    expect(first).toEqual(second);
    const { validTo } = new X509Certificate(first.issued.leaf);
    expect(Date.parse(validTo)).toBe(Math.floor(expiresBy.getTime() / 1_000) * 1_000);
  });

  it('has a serial number with more than 64 random bits, positive and at most 20 bytes', async () => {
    const serials = await Promise.all([issue(), issue(), issue()]);
    const numbers = serials.map(({ leaf }) => new X509Certificate(leaf).serialNumber);
    expect(new Set(numbers).size).toBe(3);
    for (const number of numbers) expect(number).toMatch(/^[4-7][0-9A-F]{31}$/);
  });
});

describe('the revocation list', () => {
  const published = async () => {
    const [{ der }] = await database.query<[{ der: Buffer | null }]>(
      `SELECT crl AS der FROM ca_issuer WHERE name = 'intermediate'`,
    );
    const file = path.join(folder, 'list.crl');
    writeFileSync(file, der ?? Buffer.alloc(0));
    return file;
  };

  it('is signed by the intermediate and lists revoked certificates with the reason', async () => {
    const { reference, issued } = await issueWithReference();
    const { leaf, chain, root } = issued;
    const { serialNumber } = new X509Certificate(leaf);
    await ca.renewRevocationLists();
    const issuer = pemFile('issuer.pem', ...chain);
    expect(openssl('crl', '-inform', 'DER', '-in', await published(), '-noout', '-text')).toContain(
      'No Revoked Certificates',
    );

    await ca.revoke(reference, { reason: 4 });
    await ca.renewRevocationLists();
    const text = openssl(
      'crl',
      '-inform',
      'DER',
      '-in',
      await published(),
      '-noout',
      '-text',
      '-nameopt',
      'utf8',
    );
    expect(text).toContain(`Serial Number: ${serialNumber}`);
    expect(text).toContain('Superseded');
    expect(text).toMatch(/X509v3 CRL Number: \n\s+2\n/);
    const crl = path.join(folder, 'list.pem');
    openssl('crl', '-inform', 'DER', '-in', await published(), '-out', crl);
    const verify = () =>
      openssl(
        'verify',
        '-crl_check',
        '-CRLfile',
        crl,
        '-CAfile',
        pemFile('r.pem', root),
        '-untrusted',
        issuer,
        pemFile('l.pem', leaf),
      );
    expect(verify).toThrow(/certificate revoked/);
  });

  it('is created again when the reason changes, with the first date; a repetition changes nothing', async () => {
    const { reference, issued } = await issueWithReference();
    const { serialNumber } = new X509Certificate(issued.leaf);
    const entry = async () => {
      await ca.renewRevocationLists();
      const text = openssl('crl', '-inform', 'DER', '-in', await published(), '-noout', '-text');
      return text.slice(text.indexOf(serialNumber)).split('Serial Number:')[0] ?? '';
    };
    await ca.revoke(reference, { reason: 0 });
    const first = await entry();
    expect(first).not.toContain('Reason Code');
    await ca.revoke(reference, { reason: 1 });
    const second = await entry();
    expect(second).toContain('Key Compromise');
    const date = (text: string) => /Revocation Date: (.*)/.exec(text)?.[1];
    expect(date(second)).toBe(date(first));
    const before = readFileSync(await published());
    await ca.revoke(reference, { reason: 1 });
    await ca.renewRevocationLists();
    expect(readFileSync(await published()).equals(before)).toBe(true);
  });

  it('loses no revocation during its creation', async () => {
    const revoked = await Promise.all(Array.from({ length: 12 }, issueWithReference));
    const making = Array.from({ length: 12 }, async () => await ca.renewRevocationLists());
    await Promise.all([
      ...revoked.map(async ({ reference }) => await ca.revoke(reference, { reason: 4 })),
      ...making,
    ]);
    await ca.renewRevocationLists();
    const text = openssl('crl', '-inform', 'DER', '-in', await published(), '-noout', '-text');
    for (const { issued } of revoked) expect(text).toContain(new X509Certificate(issued.leaf).serialNumber);
  });

  it('is kept while nothing changed', async () => {
    await ca.renewRevocationLists();
    const before = readFileSync(await published());
    await ca.renewRevocationLists();
    expect(readFileSync(await published()).equals(before)).toBe(true);
  });
});
