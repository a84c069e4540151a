import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { rootCertificates } from 'node:tls';
import { readCertificate, sha256Hex, verifySignature } from '../index';
import { checkIssued, type IssuedExpectation } from './check-issued';
import {
  authorityKeyId,
  type CertificateParts,
  clientAuth,
  forgeCertificate,
  isCa,
  isNoCa,
  names,
  serverAuth,
  subjectKeyId,
  utcTime,
} from '../testing/certificate-forge';
import { algorithms, commonName, rsaSpki, spkiOf } from '../testing/csr-forge';
import { bool, fromHex, int, nul, octetString, oid, seq, tlv } from '../testing/der-forge';
import { subjectAltName } from '../testing/csr-forge';

const pair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const [rootKey, middleKey, leafKey, strangerKey] = [pair(), pair(), pair(), pair()];
const rootName = seq(commonName('Root'));
const middleName = seq(commonName('Middle'));

const root = forgeCertificate(rootKey, rootKey, { subject: rootName, issuer: rootName, extensions: [isCa] });
const middleParts = { subject: middleName, issuer: rootName, extensions: [isCa] };
const middle = forgeCertificate(middleKey, rootKey, middleParts);
const leafOf = (parts: CertificateParts = {}, issuer = middleKey) =>
  forgeCertificate(leafKey, issuer, { issuer: middleName, ...parts });

describe('reading a certificate', () => {
  it('reads all fields', () => {
    const leaf = leafOf({
      serial: int(0x80ffn),
      extensions: [
        names('example.com', '*.example.com'),
        serverAuth,
        isNoCa,
        subjectKeyId('0a0b'),
        authorityKeyId('0c0d'),
      ],
    });
    const reading = readCertificate(leaf);
    expect(reading.ok && reading.certificate).toMatchObject({
      serialNumber: '80ff',
      notBefore: new Date('2026-01-01T00:00:00Z'),
      notAfter: new Date('2026-12-31T00:00:00Z'),
      dnsNames: ['example.com', '*.example.com'],
      subjectCommonName: 'example.com',
      spkiSha256: sha256Hex(spkiOf(leafKey.publicKey)),
      keyType: 'ecdsa',
      sha256: sha256Hex(leaf),
      authorityKeyId: '0c0d',
      subjectKeyId: '0a0b',
      extendedKeyUsages: ['1.3.6.1.5.5.7.3.1'],
      isCa: false,
    });
  });

  it('agrees with OpenSSL about every public root', () => {
    expect(rootCertificates.length).toBeGreaterThan(100);
    for (const pem of rootCertificates) {
      const theirs = new X509Certificate(pem);
      const ours = readCertificate(theirs.raw);
      expect(ours).toMatchObject({ ok: true });
      if (!ours.ok) continue;
      const { certificate } = ours;
      expect(certificate.serialNumber.toUpperCase().replace(/^0+/, '')).toBe(
        theirs.serialNumber.replace(/^0+/, ''),
      );
      expect(certificate.sha256.toUpperCase()).toBe(theirs.fingerprint256.replaceAll(':', ''));
      expect(certificate.sha1.toUpperCase()).toBe(theirs.fingerprint.replaceAll(':', ''));
      expect(certificate.notBefore).toEqual(new Date(theirs.validFrom));
      expect(certificate.notAfter).toEqual(new Date(theirs.validTo));
      expect(certificate.isCa).toBe(theirs.ca);
      expect(sha256Hex(theirs.publicKey.export({ type: 'spki', format: 'der' }))).toBe(
        certificate.spkiSha256,
      );
    }
  });

  it.each<[string, CertificateParts]>([
    ['version 2', { version: tlv(0xa0, int(1)) }],
    ['version 1 spelled out', { version: tlv(0xa0, int(0)) }],
    ['extensions in version 1', { version: null }],
    ['an algorithm that differs inside and outside', { outerAlgorithm: algorithms.sha256WithRsa }],
    ['a day that is not in the calendar', { notAfter: utcTime('260231000000Z') }],
    ['the same extension twice', { extensions: [isNoCa, isNoCa] }],
    ['empty extensions', { extensions: [] }],
    ['an extension that is no DER', { extensions: [seq(oid('2.5.29.17'), octetString(fromHex('3080')))] }],
    ['a serial number that is not minimal', { serial: fromHex('02020001') }],
  ])('refuses %s', (_what, parts) => expect(readCertificate(leafOf(parts)).ok).toBe(false));

  it('throws at no certificate that is mutated or cut off', () => {
    const leaf = leafOf();
    for (let at = 0; at < leaf.length; at++) {
      const mutated = Buffer.from(leaf);
      mutated[at] = (mutated[at] ?? 0) ^ (1 << (at % 8));
      readCertificate(mutated);
      expect(readCertificate(leaf.subarray(0, at)).ok).toBe(false);
      expect(checkIssued({ leaf: mutated, chain: [middle], root }, expectation)).not.toEqual([]);
    }
    expect(readCertificate(Buffer.concat([leaf, fromHex('00')])).ok).toBe(false);
  });
});

const expectation: IssuedExpectation = {
  dnsNames: ['example.com'],
  spkiSha256: sha256Hex(spkiOf(leafKey.publicKey)),
  now: new Date('2026-06-01T00:00:00Z'),
};

describe('checking a delivered certificate', () => {
  const codesOf = (
    leaf: Uint8Array,
    chain: readonly Uint8Array[] = [middle],
    more: Partial<IssuedExpectation> = {},
  ) => checkIssued({ leaf, chain, root }, { ...expectation, ...more }).map(({ code }) => code);

  it('accepts a matching certificate with a chain, a longer one and none', () => {
    expect(codesOf(leafOf())).toEqual([]);
    expect(codesOf(leafOf({ subject: seq() }))).toEqual([]);
    expect(codesOf(leafOf({ issuer: rootName }, rootKey), [])).toEqual([]);
    const lower = forgeCertificate(strangerKey, middleKey, {
      subject: seq(commonName('Lower')),
      issuer: middleName,
      extensions: [isCa],
    });
    expect(codesOf(leafOf({ issuer: seq(commonName('Lower')) }, strangerKey), [lower, middle])).toEqual([]);
  });

  it('reports a different key', () => {
    expect(codesOf(forgeCertificate(strangerKey, middleKey, { issuer: middleName }))).toEqual(['other_key']);
  });

  const noNames = { missing: [], extra: [], otherKinds: [], commonName: null };
  it.each<[string, CertificateParts, object]>([
    ['missing', { extensions: [names('example.com'), serverAuth] }, { missing: ['www.example.com'] }],
    [
      'extra',
      { extensions: [names('example.com', 'www.example.com', 'evil.net'), serverAuth] },
      { extra: ['evil.net'] },
    ],
    [
      'of another kind',
      { extensions: [subjectAltName(tlv(0x87, fromHex('7f000001'))), serverAuth] },
      { missing: ['example.com', 'www.example.com'], otherKinds: ['IP address'] },
    ],
    ['only the common name', { extensions: [serverAuth] }, { missing: ['example.com', 'www.example.com'] }],
    [
      'a foreign common name',
      {
        subject: seq(commonName('evil.net')),
        extensions: [names('example.com', 'www.example.com'), serverAuth],
      },
      { commonName: 'evil.net' },
    ],
    [
      'a second, foreign common name',
      {
        subject: seq(commonName('example.com'), commonName('evil.net')),
        extensions: [names('example.com', 'www.example.com'), serverAuth],
      },
      { commonName: 'evil.net' },
    ],
  ])('finds names that are %s', (_what, parts, found) => {
    const order = { ...expectation, dnsNames: ['example.com', 'www.example.com'] };
    expect(checkIssued({ leaf: leafOf(parts), chain: [middle], root }, order)).toEqual([
      { code: 'other_names', ...noNames, ...found },
    ]);
  });

  it('lists at most ten names, cut to the length of a name', () => {
    const many = Array.from({ length: 40 }, (_, index) => `${index}.${'x'.repeat(400)}`);
    const [mismatch] = checkIssued(
      { leaf: leafOf({ extensions: [names('example.com', ...many), serverAuth] }), chain: [middle], root },
      expectation,
    );
    const extra = mismatch?.code === 'other_names' ? mismatch.extra : [];
    expect(extra).toHaveLength(10);
    expect(extra.every((name) => name.length === 255)).toBe(true);
  });

  it('reports a certificate that is not yet valid, has expired or is valid for too long, to the second', () => {
    expect(codesOf(leafOf({ notBefore: utcTime('260601000001Z') }))).toEqual(['not_yet_valid']);
    expect(codesOf(leafOf({ notBefore: utcTime('260601000000Z') }))).toEqual([]);
    expect(codesOf(leafOf({ notAfter: utcTime('260531235959Z') }))).toEqual(['expired']);
    expect(codesOf(leafOf({ notAfter: utcTime('260601000000Z') }))).toEqual([]);
    expect(codesOf(leafOf(), [middle], { maxNotAfter: new Date('2026-12-30T23:59:59Z') })).toEqual([
      'too_long',
    ]);
    expect(codesOf(leafOf(), [middle], { maxNotAfter: new Date('2026-12-31T00:00:00Z') })).toEqual([]);
    const expiredMiddle = forgeCertificate(middleKey, rootKey, {
      ...middleParts,
      notAfter: utcTime('260501000000Z'),
    });
    expect(codesOf(leafOf(), [expiredMiddle])).toEqual(['expired']);
  });

  it('reports a CA certificate and one that is not for servers', () => {
    const extensions = [names('example.com')];
    expect(codesOf(leafOf({ extensions: [...extensions, serverAuth, isCa] }))).toEqual(['is_ca']);
    expect(codesOf(leafOf({ extensions }))).toEqual(['no_server_auth']);
    expect(codesOf(leafOf({ extensions: [...extensions, clientAuth] }))).toEqual(['no_server_auth']);
  });

  it('reports a precertificate, which every client refuses for its poison', () => {
    const poison = seq(oid('1.3.6.1.4.1.11129.2.4.3'), bool(0xff), octetString(nul()));
    expect(codesOf(leafOf({ extensions: [names('example.com'), serverAuth, poison] }))).toEqual([
      'is_precertificate',
    ]);
  });

  it('reports a chain that does not link by name', () => {
    expect(codesOf(leafOf({ issuer: rootName }))).toEqual(['broken_chain']);
    expect(codesOf(leafOf(), [])).toEqual(['broken_chain']);
    expect(codesOf(leafOf(), [middle, middle])).toEqual(['broken_chain']);
  });

  it('reports a chain that does not link by signature', () => {
    expect(codesOf(leafOf({}, strangerKey))).toEqual(['broken_chain']);
    expect(codesOf(leafOf(), [forgeCertificate(middleKey, strangerKey, middleParts)])).toEqual([
      'broken_chain',
    ]);
    const sha1 = seq(oid('1.2.840.10045.4.1'));
    expect(codesOf(leafOf({ innerAlgorithm: sha1, hash: 'sha1' }))).toEqual(['broken_chain']);
    const withParameters = seq(oid('1.2.840.10045.4.3.2'), nul());
    expect(codesOf(leafOf({ innerAlgorithm: withParameters }))).toEqual(['broken_chain']);
  });

  it.each([
    ['a long exponent', 384, rsaSpki(2n ** 3072n - 1n, 2n ** 3072n - 3n)],
    ['a long modulus', 2_048, rsaSpki(2n ** 16_384n - 1n, 2n ** 64n - 1n)],
  ])('spends no time on an issuer whose RSA key has %s', (_what, length, spki) => {
    const algorithm = { name: 'sha256WithRSAEncryption', key: 'rsa', hash: 'sha256' } as const;
    const start = process.cpuUsage();
    for (let time = 0; time < 50; time++)
      expect(verifySignature(spki, algorithm, root, Buffer.alloc(length, 1))).toBe(false);
    const { user, system } = process.cpuUsage(start);
    expect((user + system) / 1_000).toBeLessThan(200);
  });

  it('reports an issuer that is no CA', () => {
    const noCa = forgeCertificate(middleKey, rootKey, { ...middleParts, extensions: [isNoCa] });
    const [mismatch] = checkIssued({ leaf: leafOf(), chain: [noCa], root }, expectation);
    const place = { place: 'leaf', issuer: 1 } as const;
    expect(mismatch).toMatchObject({ code: 'broken_chain', fault: 'not_ca', ...place });
  });

  it('reports which certificate cannot be read, and bounds the chain', () => {
    expect(
      checkIssued({ leaf: fromHex('00'), chain: [middle, fromHex('3000')], root }, expectation),
    ).toMatchObject([
      { code: 'unreadable', place: 'leaf' },
      { code: 'unreadable', place: 2 },
    ]);
    expect(
      codesOf(
        leafOf(),
        Array.from({ length: 9 }, () => middle),
      ),
    ).toEqual(['broken_chain']);
  });
});
