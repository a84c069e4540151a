import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { CertificateRevocationList } from 'pkijs';
import { readCrl, readIssued, RevokedCertificates, sameName } from '../index';
import {
  endless,
  forgeCertificate,
  generalizedTime,
  hex,
  int,
  seq,
  set,
  text,
  tlv,
  utcTime,
} from '../testing/forge';

const folder = mkdtempSync(join(tmpdir(), 'ct-crl-'));
afterAll(() => rmSync(folder, { recursive: true }));
const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe', cwd: folder });

/** A list of `openssl ca -gencrl`. @param index lines of its database @param extensions of the list */
function gencrl(index: readonly string[], extensions: string): Buffer {
  writeFileSync(join(folder, 'index.txt'), index.map((line) => `${line}\n`).join(''));
  writeFileSync(join(folder, 'crlnumber'), '0100\n');
  writeFileSync(
    join(folder, 'ca.cnf'),
    `[ca]\ndefault_ca = it\n[it]\ndatabase = index.txt\ncrlnumber = crlnumber\ndefault_md = sha256\ncertificate = ca.pem
private_key = key.pem\ndefault_crl_days = 7\ncrl_extensions = ext\n[ext]\n${extensions}\n[point]
fullname = URI:http://crl.example/1.crl, URI:ldap://crl.example/cn=x\nonlyuser = TRUE\n`,
  );
  openssl('ca', '-config', 'ca.cnf', '-gencrl', '-out', 'crl.pem');
  return openssl('crl', '-in', 'crl.pem', '-outform', 'DER');
}

const revokedLine = (serial: string, at: string, reason: string) =>
  `R\t351231235959Z\t${at}${reason === '' ? '' : `,${reason}`}\t${serial}\tunknown\t/CN=${serial}`;

beforeAll(() => {
  openssl(
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-keyout',
    'key.pem',
    '-out',
    'ca.pem',
    '-subj',
    '/O=List Maker/CN=CA',
    '-days',
    '30',
  );
});

function read(der: Uint8Array) {
  const reading = readCrl(der);
  if (!reading.ok) throw new Error(reading.fault);
  const revoked = new RevokedCertificates(reading.crl);
  const entries = [...revoked].map(({ serial, revokedAt, reason }) => ({
    serial: serial.toString('hex'),
    revokedAt: new Date(revokedAt).toISOString(),
    reason,
  }));
  return { ...reading.crl, entries, unreadable: revoked.unreadable };
}

describe('a list from openssl', () => {
  const lines = [
    revokedLine('0A', '250102030405Z', 'keyCompromise'),
    revokedLine('FF01', '250102030406Z', 'superseded'),
    revokedLine('7F00000000000000000000000000000000000001', '491231235959Z', ''),
    revokedLine('0B', '250102030407Z', 'certificateHold'),
  ];

  it('is read with the values that openssl shows', () => {
    const der = gencrl(lines, 'authorityKeyIdentifier = keyid');
    const crl = read(der);
    const byTime = crl.entries.sort((one, other) => (one.revokedAt < other.revokedAt ? -1 : 1));
    expect(byTime).toEqual([
      { serial: '0a', revokedAt: '2025-01-02T03:04:05.000Z', reason: 1 },
      { serial: 'ff01', revokedAt: '2025-01-02T03:04:06.000Z', reason: 4 },
      { serial: '0b', revokedAt: '2025-01-02T03:04:07.000Z', reason: 6 },
      {
        serial: '7f00000000000000000000000000000000000001',
        revokedAt: '2049-12-31T23:59:59.000Z',
        reason: 0,
      },
    ]);
    const shown = openssl(
      'crl',
      '-in',
      'crl.pem',
      '-noout',
      '-lastupdate',
      '-nextupdate',
      '-crlnumber',
    ).toString();
    const [last, next, number] = shown
      .trim()
      .split('\n')
      .map((line) => line.split('=')[1] ?? '');
    expect(crl.thisUpdate).toBe(Date.parse(last ?? ''));
    expect(crl.nextUpdate).toBe(Date.parse(next ?? ''));
    expect(crl.number).toBe(BigInt(number ?? '').toString());
    const ca = readIssued(openssl('x509', '-in', 'ca.pem', '-outform', 'DER'), 'certificate');
    expect(crl.issuerDer).toEqual(ca.subjectDer);
    expect(crl).toMatchObject({ places: null, isDelta: false, hasUnknownCritical: false, unreadable: 0 });
  });

  it('has the URLs and certificates of its scope', () => {
    expect(read(gencrl(lines, 'issuingDistributionPoint = critical, @point'))).toMatchObject({
      places: ['http://crl.example/1.crl', 'ldap://crl.example/cn=x'],
      hasUserCertificates: true,
      hasAllReasons: true,
      isIndirect: false,
      hasUnknownCritical: false,
    });
  });

  it('may be PEM, and have no entries', () => {
    gencrl([], 'authorityKeyIdentifier = keyid');
    expect(read(readFileSync(join(folder, 'crl.pem'))).entries).toEqual([]);
  });

  it('is read like pkijs reads it', () => {
    const der = gencrl(lines, 'issuingDistributionPoint = critical, @point');
    const other = CertificateRevocationList.fromBER(der);
    const crl = read(der);
    expect(crl.thisUpdate).toBe(other.thisUpdate.value.getTime());
    expect(crl.nextUpdate).toBe(other.nextUpdate?.value.getTime());
    expect(crl.tbsDer).toEqual(Buffer.from(other.tbsView));
    expect(crl.signature).toEqual(Buffer.from(other.signatureValue.valueBlock.valueHexView));
    expect(crl.entries.map(({ serial, revokedAt }) => [serial, revokedAt])).toEqual(
      other.revokedCertificates?.map(({ userCertificate, revocationDate }) => [
        Buffer.from(userCertificate.valueBlock.valueHexView)
          .toString('hex')
          .replace(/^(?:00)+(?=..)/, ''),
        revocationDate.value.toISOString(),
      ]),
    );
  });
});

const algorithm = seq(tlv(0x06, hex('2a864886f70d01010b')));
const issuer = seq(set(seq(tlv(0x06, hex('550403')), text(0x0c, 'CA'))));
const extension = (id: string, value: Uint8Array, critical = false) =>
  seq(tlv(0x06, hex(id)), critical ? tlv(0x01, hex('ff')) : Buffer.alloc(0), tlv(0x04, value));
const entry = (serial: Uint8Array, ...extensions: readonly Uint8Array[]) =>
  seq(serial, utcTime('250101000000Z'), ...(extensions.length === 0 ? [] : [seq(...extensions)]));
const reason = (code: number) => extension('551d15', tlv(0x0a, Buffer.from([code])));

function forge(entries: readonly Uint8Array[], extensions: readonly Uint8Array[] = [], around = seq): Buffer {
  const tbs = seq(
    int('01'),
    algorithm,
    issuer,
    utcTime('260101000000Z'),
    around(...entries),
    tlv(0xa0, seq(...extensions)),
  );
  return seq(tbs, algorithm, tlv(0x03, hex('00'), Buffer.alloc(64, 7)));
}

describe('entries', () => {
  it('have serial numbers as certificates have', () => {
    const serials = ['00', '0001', '00ff', 'ff', '8000', '7f', '00000102'];
    const { entries } = read(forge(serials.map((serial) => entry(int(serial)))));
    expect(entries.map(({ serial }) => serial)).toEqual(['00', '01', 'ff', '0001', '008000', '7f', '0102']);
  });

  it('have the serial number of their certificate in any encoding', () => {
    const same = (bytes: Uint8Array) => {
      const { serial } = readIssued(forgeCertificate({ serial: tlv(0x02, bytes) }), 'certificate');
      // As it is stored.
      const stored = serial?.startsWith('-') === true ? `00${serial.slice(1)}` : serial;
      return read(forge([entry(tlv(0x02, bytes))])).entries[0]?.serial === (stored ?? undefined);
    };
    const written = [
      '',
      '00',
      '0000',
      '80',
      'ff',
      'ffff',
      'ff80',
      '0080',
      '000080',
      '8000',
      '00ff00',
      'ff00',
    ];
    expect(written.filter((digits) => !same(hex(digits)))).toEqual([]);
    fc.assert(fc.property(fc.uint8Array({ maxLength: 66 }), same), { numRuns: 300 });
  });

  it('with removeFromCRL are skipped', () => {
    const { entries } = read(forge([entry(int('01'), reason(6)), entry(int('02'), reason(8))]));
    expect(entries.map(({ serial, reason: code }) => [serial, code])).toEqual([['01', 6]]);
  });

  it('of other issuers are skipped in an indirect list, until one is of its own issuer again', () => {
    const of = (name: string, tag = 0x13) =>
      extension('551d1d', seq(tlv(0xa4, seq(set(seq(tlv(0x06, hex('550403')), text(tag, name)))))), true);
    const list = [
      entry(int('01')),
      entry(int('02'), of('Other')),
      entry(int('03')),
      entry(int('04'), of(' ca')),
    ];
    const indirect = extension('551d1c', seq(tlv(0x84, hex('ff'))), true);
    expect(read(forge(list, [indirect])).entries.map(({ serial }) => serial)).toEqual(['01', '04']);
    expect(read(forge(list)).entries).toHaveLength(4);
  });

  it('that are unreadable are counted', () => {
    const odd = [
      int('05'),
      seq(),
      seq(int('01')),
      seq(int('01'), text(0x17, 'yesterday')),
      entry(int('11'.repeat(65))),
    ];
    expect(read(forge([...odd, entry(int('02'))]))).toMatchObject({
      unreadable: 5,
      entries: [{ serial: '02' }],
    });
  });
});

describe('a scope', () => {
  it.each([
    ['CA certificates alone', extension('551d1c', seq(tlv(0x82, hex('ff')))), { hasUserCertificates: false }],
    [
      'not CA certificates alone',
      extension('551d1c', seq(tlv(0x82, hex('00')))),
      { hasUserCertificates: true },
    ],
    [
      'attribute certificates',
      extension('551d1c', seq(tlv(0x85, hex('ff')))),
      { hasUserCertificates: false },
    ],
    ['some reasons', extension('551d1c', seq(tlv(0x83, hex('0520')))), { hasAllReasons: false }],
    ['a relative place', extension('551d1c', seq(tlv(0xa0, tlv(0xa1, set())))), { places: [] }],
    ['no scope that can be read', extension('551d1c', hex('04')), { hasUnknownCritical: true }],
    ['something unknown', extension('550101', hex('0500'), true), { hasUnknownCritical: true }],
    [
      'something unknown that may be passed over',
      extension('550101', hex('0500')),
      { hasUnknownCritical: false },
    ],
    ['changes', extension('551d1b', int('01'), true), { isDelta: true, hasUnknownCritical: false }],
    ['a negative number', extension('551d14', int('ff')), { number: null }],
    [
      'a long number',
      extension('551d14', int('00ff00000000000000000000000000000000000000')),
      { number: '1455792646560079078679451688838485039110401556480' },
    ],
  ])('%s', (_, ext, expected) => expect(read(forge([], [ext]))).toMatchObject(expected));
});

describe('an invalid list', () => {
  const whole = forge([entry(int('01'))]);
  it.each([
    ['nothing', Buffer.alloc(0), 'not_a_crl'],
    ['a page', Buffer.from('<html>not found</html>'), 'not_a_crl'],
    ['a certificate', seq(seq(int('02'), algorithm)), 'not_a_crl'],
    ['half of one', whole.subarray(0, whole.length - 20), 'cut_off'],
    ['one and a half', Buffer.concat([whole, whole]), 'trailing_bytes'],
    [
      'two algorithms',
      seq(seq(seq(tlv(0x06, hex('2b6570'))), issuer), algorithm, tlv(0x03, hex('00'))),
      'algorithms',
    ],
    ['no time', seq(seq(algorithm, issuer), algorithm, tlv(0x03, hex('00'))), 'this_update'],
  ])('%s', (_, bytes, fault) => expect(readCrl(bytes)).toEqual({ ok: false, fault }));

  it('truncated anywhere, or with any byte changed, is read without an exception', () => {
    const der = forge([entry(int('01'), reason(1)), entry(int('02'))], [extension('551d14', int('05'))]);
    for (let end = 0; end < der.length; end += 1) walk(der.subarray(0, end));
    fc.assert(
      fc.property(fc.nat(der.length - 1), fc.nat(255), (at, byte) => {
        const changed = Buffer.from(der);
        changed[at] = byte;
        walk(changed);
      }),
      { numRuns: 2_000 },
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => void walk(bytes)),
      { numRuns: 1_000 },
    );
  });
});

function walk(bytes: Uint8Array): number {
  const reading = readCrl(bytes);
  return reading.ok ? [...new RevokedCertificates(reading.crl)].length : 0;
}

it('is DER: an indefinite length is rejected', () => {
  const [first, second] = [
    endless(0x30, forge([])),
    seq(endless(0x30, algorithm), algorithm, tlv(0x03, hex('00'))),
  ];
  for (const bytes of [first, second]) expect(readCrl(bytes)).toMatchObject({ ok: false });
});

describe('entries of a long list', () => {
  const pieces = (entries: Uint8Array) => {
    const reading = readCrl(forge([entries]));
    if (!reading.ok) throw new Error(reading.fault);
    const revoked = new RevokedCertificates(reading.crl);
    return { lengths: Array.from(revoked.pieces(), ({ length }) => length), revoked };
  };

  it('are returned in pieces, including skipped ones', () => {
    const { lengths } = pieces(many(50_000, entry(int('0102'), reason(1))));
    expect(lengths.length).toBeGreaterThan(5);
    expect(lengths.reduce((sum, each) => sum + each)).toBe(50_000);
    expect(pieces(many(50_000, entry(int('0102'), reason(8)))).lengths).toEqual(lengths.map(() => 0));
    expect(pieces(many(1_000_000, hex('0500'))).lengths.length).toBeGreaterThan(5);
  });

  it('that are too long are not read', () => {
    const { lengths, revoked } = pieces(
      Buffer.concat([entry(int('01'), extension('551d1d', Buffer.alloc(5_000))), entry(int('02'))]),
    );
    expect([lengths, revoked.unreadable]).toEqual([[1], 1]);
  });
});

it('names that are too long are only equal byte by byte', () => {
  const level = set(seq(tlv(0x06, hex('550403')), text(0x0c, 'CA')));
  const long = seq(many(1_000_000, level));
  const startedAt = performance.now();
  expect(sameName(long, Buffer.from(long))).toBe(true);
  expect(sameName(long, seq(many(999_999, level)))).toBe(false);
  // Taken apart, it is a gigabyte.
  expect(performance.now() - startedAt).toBeLessThan(20_000);
});

const many = (count: number, one: Uint8Array) => Buffer.concat(Array.from({ length: count }, () => one));
const endlessEntry = endless(0x30, int('01'), utcTime('250101000000Z'));

it.each([
  ['nesting', forge([Buffer.alloc(2_000_000, 0x30)])],
  ['nesting without lengths', forge([Buffer.alloc(2_000_000, Buffer.from('3080', 'hex'))])],
  [
    'an entry of extensions',
    forge([seq(int('01'), utcTime('250101000000Z'), seq(many(200_000, reason(1))))]),
  ],
  [
    'entries without lengths',
    forge([many(100_000, endlessEntry)], [], (...parts) => endless(0x30, ...parts)),
  ],
  ['entries without lengths or ends', forge([many(100_000, endlessEntry.subarray(0, -2))])],
  ['entries', forge([many(100_000, seq(int('01'), generalizedTime('20250101000000Z')))])],
])('takes time in proportion to its bytes: %s', (_, der) => {
  const startedAt = performance.now();
  walk(der);
  // A quadratic reader would take minutes.
  expect(performance.now() - startedAt).toBeLessThan(10_000);
});
