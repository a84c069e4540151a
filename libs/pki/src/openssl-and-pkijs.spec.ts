import { execFileSync } from 'node:child_process';
import { createHash, webcrypto } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BmpString, OctetString, PrintableString, Utf8String } from 'asn1js';
import {
  Attribute,
  AttributeTypeAndValue,
  CertificationRequest,
  CryptoEngine,
  Extension,
  Extensions,
  GeneralName,
  GeneralNames,
} from 'pkijs';
import { checkIssued, decodePem, checkCsr, readCertificate, readCsr } from './index';

// Generating a 4096-bit key may take OpenSSL seconds.
jest.setTimeout(60_000);

const folder = mkdtempSync(join(tmpdir(), 'pki-spec-'));
afterAll(() => rmSync(folder, { recursive: true }));

const file = (name: string) => join(folder, name);
const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' });
const dnsNames = ['example.com', '*.example.com'];
const sanOption = 'subjectAltName=DNS:example.com,DNS:*.example.com';

function opensslCsr(keyArguments: readonly string[], options: readonly string[] = []): Buffer {
  openssl('genpkey', ...keyArguments, '-out', file('key.pem'));
  const fixed = [
    'req',
    '-new',
    '-key',
    file('key.pem'),
    '-subj',
    '/C=GB/O=Example/CN=example.com',
    '-addext',
    sanOption,
  ];
  return openssl(...fixed, ...options, '-outform', 'DER');
}

function faultsOf(der: Uint8Array) {
  const reading = readCsr(der);
  if (!reading.ok) return reading.faults;
  return checkCsr(
    reading.csr,
    { keyType: undefined, dnsNames, rule: { mustNameEveryDnsName: true } },
    { keyBlocked: false },
  );
}

const rsa = (bits: number) => ['-algorithm', 'RSA', '-pkeyopt', `rsa_keygen_bits:${bits}`];
const ec = (curve: string) => ['-algorithm', 'EC', '-pkeyopt', `ec_paramgen_curve:${curve}`];

describe('requests that OpenSSL makes', () => {
  it.each<[string, string[], string[]]>([
    ['RSA 2048', rsa(2048), []],
    ['RSA 3072 with SHA-384', rsa(3072), ['-sha384']],
    ['RSA 4096 with SHA-512', rsa(4096), ['-sha512']],
    ['P-256', ec('P-256'), []],
    ['P-384 with SHA-384', ec('P-384'), ['-sha384']],
    ['P-256 with SHA-512', ec('P-256'), ['-sha512']],
    [
      'more extensions',
      ec('P-256'),
      ['-addext', 'keyUsage=critical,digitalSignature', '-addext', 'basicConstraints=critical,CA:FALSE'],
    ],
  ])('of %s are accepted', (_what, key, options) => expect(faultsOf(opensslCsr(key, options))).toEqual([]));

  it.each<[string, string[], string[], string]>([
    ['RSA 1024', rsa(1024), [], 'unsupported_key_size'],
    ['RSA 2056', rsa(2056), [], 'unsupported_key_size'],
    ['RSA with exponent 3', [...rsa(2048), '-pkeyopt', 'rsa_keygen_pubexp:3'], [], 'weak_key'],
    ['RSA with SHA-1', rsa(2048), ['-sha1'], 'bad_csr_signature'],
    ['RSA with a PSS signature', rsa(2048), ['-sigopt', 'rsa_padding_mode:pss'], 'bad_csr_signature'],
    ['RSA-PSS', ['-algorithm', 'RSA-PSS', '-pkeyopt', 'rsa_keygen_bits:2048'], [], 'unsupported_key_type'],
    ['Ed25519', ['-algorithm', 'ED25519'], [], 'unsupported_key_type'],
    ['P-521', ec('P-521'), [], 'unsupported_curve'],
    ['secp256k1', ec('secp256k1'), [], 'unsupported_curve'],
    ['a curve spelled out', [...ec('P-256'), '-pkeyopt', 'ec_param_enc:explicit'], [], 'unsupported_curve'],
    ['P-256 with SHA-1', ec('P-256'), ['-sha1'], 'bad_csr_signature'],
  ])('of %s are refused', (_what, key, options, code) =>
    expect(faultsOf(opensslCsr(key, options)).map((fault) => fault.code)).toEqual([code]),
  );

  it('have the public key digest that OpenSSL computes', () => {
    const reading = readCsr(opensslCsr(ec('P-256')));
    const spki = openssl('pkey', '-in', file('key.pem'), '-pubout', '-outform', 'DER');
    expect(reading.ok && reading.csr.spkiSha256).toBe(createHash('sha256').update(spki).digest('hex'));
    expect(reading.ok && reading.csr.countries).toEqual(['GB']);
  });
});

describe('certificates that OpenSSL makes', () => {
  it('pass the check with their chain', () => {
    const csr = readCsr(opensslCsr(ec('P-256')));
    if (!csr.ok) throw new Error('the request is not read');
    openssl(
      'req',
      '-new',
      '-key',
      file('key.pem'),
      '-subj',
      '/CN=example.com',
      '-addext',
      sanOption,
      '-out',
      file('leaf.csr'),
    );
    const newCa = (name: string, ...more: string[]) =>
      openssl(
        'req',
        '-x509',
        '-newkey',
        'rsa:2048',
        '-nodes',
        '-keyout',
        file(`${name}.key`),
        '-out',
        file(`${name}.pem`),
        '-subj',
        `/CN=${name}`,
        '-days',
        '100',
        ...more,
      );
    newCa('root');
    newCa(
      'middle',
      '-CA',
      file('root.pem'),
      '-CAkey',
      file('root.key'),
      '-addext',
      'basicConstraints=critical,CA:TRUE',
    );
    writeFileSync(
      file('leaf.ext'),
      `${sanOption}\nextendedKeyUsage=serverAuth,clientAuth\nbasicConstraints=CA:FALSE\n`,
    );
    openssl(
      'x509',
      '-req',
      '-in',
      file('leaf.csr'),
      '-CA',
      file('middle.pem'),
      '-CAkey',
      file('middle.key'),
      '-extfile',
      file('leaf.ext'),
      '-days',
      '90',
      '-out',
      file('leaf.pem'),
    );
    const derOf = (name: string) => {
      const decoded = decodePem(readFileSync(file(`${name}.pem`), 'utf8'), 1);
      if (!decoded.ok || decoded.blocks[0] === undefined) throw new Error(`${name} is not read`);
      return decoded.blocks[0].der;
    };
    const issued = { leaf: derOf('leaf'), chain: [derOf('middle')], root: derOf('root') };
    const leaf = readCertificate(issued.leaf);
    if (!leaf.ok) throw new Error(leaf.detail);
    const now = new Date(leaf.certificate.notBefore.getTime() + 86_400_000);
    expect(checkIssued(issued, { dnsNames, spkiSha256: csr.csr.spkiSha256, now })).toEqual([]);
    expect(
      checkIssued({ ...issued, chain: [] }, { dnsNames, spkiSha256: csr.csr.spkiSha256, now }),
    ).toHaveLength(1);
  });
});

describe('requests that pkijs makes', () => {
  const engine = new CryptoEngine({ name: 'node', crypto: webcrypto });

  async function pkijsCsr(
    commonName: Utf8String | PrintableString | BmpString,
    names: readonly string[],
  ): Promise<Buffer> {
    const keys = await webcrypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, [
      'sign',
      'verify',
    ]);
    const request = new CertificationRequest();
    request.subject.typesAndValues.push(new AttributeTypeAndValue({ type: '2.5.4.3', value: commonName }));
    await request.subjectPublicKeyInfo.importKey(keys.publicKey, engine);
    const san = new GeneralNames({ names: names.map((value) => new GeneralName({ type: 2, value })) });
    const extension = new Extension({
      extnID: '2.5.29.17',
      critical: false,
      extnValue: san.toSchema().toBER(),
    });
    const value = new Extensions({ extensions: [extension] }).toSchema();
    request.attributes = [new Attribute({ type: '1.2.840.113549.1.9.14', values: [value] })];
    await request.sign(keys.privateKey, 'SHA-256', engine);
    return Buffer.from(request.toSchema(true).toBER());
  }

  it.each([
    ['UTF-8', new Utf8String({ value: 'example.com' })],
    ['printable', new PrintableString({ value: '*.example.com' })],
    ['BMP', new BmpString({ value: 'example.com' })],
  ])('with a common name in a %s string are accepted', async (_kind, commonName) => {
    expect(faultsOf(await pkijsCsr(commonName, ['*.EXAMPLE.com', 'example.com']))).toEqual([]);
  });

  it('are read with the names that pkijs reads from them', async () => {
    const der = await pkijsCsr(new Utf8String({ value: 'a.example.com' }), [
      'b.example.com',
      'c.example.com',
    ]);
    const theirs = CertificationRequest.fromBER(der);
    const value = theirs.attributes?.[0]?.values[0] as {
      valueBlock: { value: { valueBlock: { value: unknown[] } }[] };
    };
    const extnValue = value.valueBlock.value[0]?.valueBlock.value.at(-1) as OctetString;
    const { names } = GeneralNames.fromBER(extnValue.valueBlock.valueHexView);
    const ours = readCsr(der);
    expect(ours.ok && ours.csr.subjectAlternativeNames?.dnsNames).toEqual(
      names.map((name) => name.value as string),
    );
  });
});
