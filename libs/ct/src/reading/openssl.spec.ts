import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readIssued, tbsSha256 } from '../index';

jest.setTimeout(60_000);

const folder = mkdtempSync(join(tmpdir(), 'ct-spec-'));
beforeAll(() =>
  openssl('genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256', '-out', 'key.pem'),
);
afterAll(() => rmSync(folder, { recursive: true }));

const file = (name: string) => join(folder, name);
const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe', cwd: folder });

interface Wanted {
  readonly commonNames?: readonly string[];
  /**
   * OpenSSL's mask of string types: 0x800 is BMPString, 0x4 T61String, 0x2000 UTF8String (X509
   * `string_mask`).
   */
  readonly stringMask?: string;
  readonly serial?: string;
  readonly startDate?: string;
  readonly endDate?: string;
  readonly extensions?: string;
}

/**
 * A self-signed certificate as `openssl ca` issues it; whatever may be odd about it is a setting of its own.
 */
function issue(wanted: Wanted): Buffer {
  const { commonNames = ['example.com'], stringMask = 'MASK:0x2002', extensions = '' } = wanted;
  writeFileSync(file('index.txt'), '');
  writeFileSync(file('serial.txt'), wanted.serial ?? '1234');
  const names = commonNames.map((name, i) => `${i}.CN = ${name}`).join('\n');
  writeFileSync(
    file('openssl.cnf'),
    `[req]\ndistinguished_name = dn\nprompt = no\nutf8 = yes\nstring_mask = ${stringMask}\n[dn]\n${names}\n` +
      `[ca]\ndefault_ca = this\n[this]\ndatabase = index.txt\nserial = serial.txt\nnew_certs_dir = .\n` +
      `default_md = sha256\n` +
      `policy = any\nx509_extensions = ext\nunique_subject = no\n[any]\ncommonName = optional\n[ext]\n${extensions}\n`,
  );
  openssl('req', '-new', '-config', 'openssl.cnf', '-key', 'key.pem', '-out', 'request.pem');
  const dates = [
    '-startdate',
    wanted.startDate ?? '20260101000000Z',
    '-enddate',
    wanted.endDate ?? '20261231000000Z',
  ];
  const self = [
    '-selfsign',
    '-keyfile',
    'key.pem',
    '-in',
    'request.pem',
    '-out',
    'certificate.pem',
    '-notext',
  ];
  openssl('ca', '-batch', '-preserveDN', '-config', 'openssl.cnf', ...self, ...dates);
  return new X509Certificate(readFileSync(file('certificate.pem'))).raw;
}

const printed = (...args: string[]) =>
  openssl('x509', '-noout', '-in', 'certificate.pem', ...args).toString();

describe('certificates that OpenSSL makes are read with', () => {
  it.each<[string, Wanted, string[]]>([
    ['a common name', {}, ['example.com']],
    ['two common names', { commonNames: ['a.example', 'b.example'] }, ['a.example', 'b.example']],
    ['a BMPString', { commonNames: ['bücher.example'], stringMask: 'MASK:0x800' }, ['xn--bcher-kva.example']],
    ['a T61String', { commonNames: ['bücher.example'], stringMask: 'MASK:0x4' }, ['xn--bcher-kva.example']],
    [
      'a UTF8String',
      { commonNames: ['bücher.example'], stringMask: 'MASK:0x2000' },
      ['xn--bcher-kva.example'],
    ],
    ['an address as common name', { commonNames: ['192.0.2.1'] }, []],
    [
      'alternative names of all kinds',
      {
        extensions:
          'subjectAltName = DNS:*.a.example, IP:192.0.2.1, email:a@b.example, URI:https://c.example/, RID:1.2.3, DNS:D.example., DNS:192.0.2.1',
      },
      ['*.a.example', 'd.example', 'example.com'],
    ],
    [
      'an SCT list and poison of any bytes',
      { extensions: '1.3.6.1.4.1.11129.2.4.2 = DER:0402abcd\n1.3.6.1.4.1.11129.2.4.3 = critical,ASN1:NULL' },
      ['example.com'],
    ],
  ])('%s', (_what, wanted, dnsNames) => {
    const issued = readIssued(issue(wanted), 'certificate');
    expect(issued.dnsNames).toEqual(dnsNames);
    expect(issued.serial).toBe('1234');
    expect(issued.faults.filter((fault) => !['dropped_name', 'poison'].includes(fault))).toEqual([]);
  });
});

it.each(['01', '7F', '80', 'FF', '00FF', '8000000000000000000000000000000000000000', `0${'A'.repeat(39)}`])(
  'serial number %s',
  (serial) => {
    const { serial: ours, faults } = readIssued(issue({ serial }), 'certificate');
    expect(ours).toBe(printed('-serial').trim().replace('serial=', '').toLowerCase());
    expect(faults).toEqual([]);
  },
);

it('a negative serial number', () => {
  issue({});
  openssl(
    'req',
    '-new',
    '-x509',
    '-config',
    'openssl.cnf',
    '-key',
    'key.pem',
    '-set_serial',
    '-300',
    '-out',
    'certificate.pem',
  );
  const der = new X509Certificate(readFileSync(file('certificate.pem'))).raw;
  expect(printed('-serial').trim()).toBe('serial=-012C');
  expect(readIssued(der, 'certificate')).toMatchObject({ serial: '-012c', faults: ['negative_serial'] });
});

it.each([
  ['19490102030405Z', '19500102030405Z'],
  ['19500101000000Z', '20491231235959Z'],
  ['20500101000000Z', '99991231235959Z'],
  ['20000229120000Z', '21000228120000Z'],
])('validity from %s to %s', (startDate, endDate) => {
  const { notBefore, notAfter } = readIssued(issue({ startDate, endDate }), 'certificate');
  const [start = '', end = ''] = printed('-dates').trim().split('\n');
  expect(notBefore).toBe(Date.parse(start.replace('notBefore=', '')));
  expect(notAfter).toBe(Date.parse(end.replace('notAfter=', '')));
});

it('with and without an SCT list, the same names, key, times and serial number are one issuance', () => {
  const san = 'subjectAltName = DNS:a.example';
  const [without, withSctList] = [san, `${san}\n1.3.6.1.4.1.11129.2.4.2 = DER:0402abcd`].map((extensions) =>
    readIssued(issue({ extensions }), 'certificate'),
  );
  expect([without?.hasSctList, withSctList?.hasSctList]).toEqual([false, true]);
  expect(tbsSha256(without!)).toBe(tbsSha256(withSctList!));
});
