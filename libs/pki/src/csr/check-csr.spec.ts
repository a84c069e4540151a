import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import {
  algorithms,
  attributeOfName,
  commonName,
  type CsrParts,
  dns,
  extensionRequest,
  forgeCsr,
  rsaSpki,
  spkiOf,
  subjectAltName,
} from '../testing/csr-forge';
import { bool, fromHex, int, nul, octetString, oid, seq, set, tlv, utf8 } from '../testing/der-forge';
import {
  type CsrFault,
  decodeCsrField,
  encodePem,
  checkCsr,
  type KeyType,
  parseDer,
  readCsr,
} from '../index';

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });

interface Order {
  readonly product?: 'free_ca' | 'paid_ca';
  readonly keyType?: KeyType;
  readonly dnsNames?: readonly string[];
  readonly keyBlocked?: boolean;
}

function faultsOf(
  der: Uint8Array,
  { product = 'free_ca', keyType, dnsNames = ['example.com'], keyBlocked = false }: Order = {},
) {
  const reading = readCsr(der);
  if (!reading.ok) return reading.faults;
  const rule = { mustNameEveryDnsName: product === 'free_ca' };
  return checkCsr(reading.csr, { keyType, dnsNames, rule }, { keyBlocked });
}

const codesOf = (der: Uint8Array, order?: Order) => faultsOf(der, order).map(({ code }) => code);
const forged = (parts: CsrParts) => forgeCsr(ec, parts);

describe('reading a CSR', () => {
  it('the public key, its digest, the names and the countries', () => {
    const subject = seq(attributeOfName('2.5.4.6', tlv(0x13, Buffer.from('GB'))), commonName('Example.com'));
    const reading = readCsr(
      forged({ subject, sans: [dns('a.example.com'), tlv(0x87, fromHex('7f000001'))] }),
    );
    expect(reading.ok && reading.csr).toMatchObject({
      commonNames: ['Example.com'],
      countries: ['GB'],
      subjectAlternativeNames: { dnsNames: ['a.example.com'], otherKinds: ['IP address'] },
      keyType: 'ecdsa',
      spkiSha256: createHash('sha256').update(spkiOf(ec.publicKey)).digest('hex'),
    });
  });
});

describe('free_ca: the CSR must contain every DNS name', () => {
  const dnsNames = ['example.com', '*.example.com', 'www.example.com'];

  it("accepts exactly the order's DNS names, in any order, in any case, and more than once", () => {
    const sans = ['WWW.example.com', '*.Example.com', 'example.com', 'EXAMPLE.com'].map(dns);
    expect(codesOf(forged({ sans }), { dnsNames })).toEqual([]);
  });

  it('accepts a CSR without a common name', () => {
    expect(codesOf(forged({ subject: seq() }))).toEqual([]);
  });

  it("the common name, if present, must equal one of the order's DNS names", () => {
    expect(codesOf(forged({ subject: seq(commonName('EXAMPLE.COM')) }))).toEqual([]);
    for (const name of ['example.org', 'example.com.', ' example.com', 'www.example.com', 'example.com\0']) {
      expect(codesOf(forged({ subject: seq(commonName(name)) }))).toEqual(['csr_cn_mismatch']);
    }
  });

  it.each([
    ['one name is missing', ['example.com', 'www.example.com'], ['*.example.com'], []],
    ['one name is too many', [...dnsNames, 'x.example.com'], [], ['x.example.com']],
    [
      'a name ends in a dot',
      ['example.com.', '*.example.com', 'www.example.com'],
      ['example.com'],
      ['example.com.'],
    ],
    ['a name has a NUL', [...dnsNames, 'example.com\0.evil.net'], [], ['example.com\0.evil.net']],
    ['all names are others', ['a.net'], dnsNames, ['a.net']],
  ])('refuses when %s', (_what, names, missing, extra) => {
    const [fault, ...others] = faultsOf(forged({ sans: names.map(dns) }), { dnsNames });
    expect(fault).toEqual({ code: 'csr_san_mismatch', fault: 'other_names', missing, extra, otherKinds: [] });
    expect(others).toEqual([]);
  });

  it('rejects a missing extension, even when the common name contains the only name', () => {
    expect(codesOf(forged({ attributes: [] }))).toEqual(['csr_san_mismatch']);
    expect(codesOf(forged({ attributes: null }))).toEqual(['csr_san_mismatch']);
    const keyUsage = seq(oid('2.5.29.15'), octetString(fromHex('03020780')));
    expect(codesOf(forged({ attributes: [extensionRequest(keyUsage)] }))).toEqual(['csr_san_mismatch']);
  });

  it.each([
    ['IP address', tlv(0x87, fromHex('7f000001'))],
    ['email address', tlv(0x81, Buffer.from('a@example.com'))],
    ['URI', tlv(0x86, Buffer.from('https://example.com'))],
    ['other name', tlv(0xa0, oid('1.2.3'), tlv(0xa0, utf8('x')))],
    ['directory name', tlv(0xa4, seq())],
  ])('refuses an entry that is an %s', (kind, entry) => {
    const [fault] = faultsOf(forged({ sans: [dns('example.com'), entry] }));
    expect(fault).toMatchObject({ code: 'csr_san_mismatch', otherKinds: [kind] });
  });
});

describe('letters that only look like others', () => {
  it('make another name: U+212A is not the letter k, although case folding makes it one', () => {
    const order = { dnsNames: ['k.example.com'] };
    const sans = [dns('K.example.com')];
    expect(codesOf(forged({ subject: seq(commonName('K.example.com')), sans }), order)).toEqual([]);
    expect(codesOf(forged({ subject: seq(commonName('\u212a.example.com')), sans }), order)).toEqual([
      'csr_cn_mismatch',
    ]);
  });
});

describe('paid_ca: the common name and SANs in the CSR are ignored', () => {
  it('accepts any of them, and none', () => {
    for (const parts of [
      { attributes: [] },
      { sans: [dns('other.net'), tlv(0x87, fromHex('01020304'))] },
      { subject: seq(commonName('Ü *')) },
    ]) {
      expect(codesOf(forged(parts), { product: 'paid_ca' })).toEqual([]);
    }
  });
});

describe('all faults are reported at once', () => {
  it('of the key, of its type, of the block list, of the common name and of the SANs', () => {
    const der = forgeCsr(rsa, {
      spki: rsaSpki(1n << 1023n),
      subject: seq(commonName('a.net')),
      sans: [dns('b.net')],
    });
    expect(codesOf(der, { keyType: 'ecdsa', keyBlocked: true })).toEqual([
      'unsupported_key_size',
      'unsupported_key_type',
      'key_compromised',
      'csr_cn_mismatch',
      'csr_san_mismatch',
    ]);
  });
});

describe('the key', () => {
  it("must be of the order's key_type, and the fault names both", () => {
    expect(codesOf(forgeCsr(rsa), { keyType: 'rsa' })).toEqual([]);
    expect(codesOf(forgeCsr(ec), { keyType: 'ecdsa' })).toEqual([]);
    const [fault] = faultsOf(forgeCsr(ec), { keyType: 'rsa' });
    expect(fault).toEqual({
      code: 'unsupported_key_type',
      actual: 'ecdsa',
      wanted: 'rsa',
    });
  });

  it('is rejected when the caller reports it as blocked', () => {
    expect(codesOf(forged({}), { keyBlocked: true })).toEqual(['key_compromised']);
  });

  it('has an algorithm identifier with exactly the right parameters', () => {
    const withParameters = (...parameters: Uint8Array[]) =>
      seq(seq(oid('1.2.840.113549.1.1.1'), ...parameters), tlv(0x03, fromHex('00'), seq(int(5), int(3))));
    expect(codesOf(forged({ spki: withParameters() }))).toEqual(['malformed_csr']);
    expect(codesOf(forged({ spki: withParameters(seq()) }))).toEqual(['malformed_csr']);
    expect(codesOf(forged({ spki: withParameters(nul(), nul()) }))).toEqual(['malformed_csr']);
  });
});

describe('the signature', () => {
  it('must be made over this request with the private key that belongs to its public key', () => {
    const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    expect(codesOf(forgeCsr({ ...ec, privateKey: stranger.privateKey }))).toEqual(['bad_csr_signature']);
    expect(
      codesOf(forged({ signature: sign('sha256', Buffer.from('another request'), ec.privateKey) })),
    ).toEqual(['bad_csr_signature']);
    expect(codesOf(forgeCsr(rsa, { signature: Buffer.alloc(256) }))).toEqual(['bad_csr_signature']);
    expect(codesOf(forgeCsr(rsa, { signature: Buffer.alloc(0) }))).toEqual(['bad_csr_signature']);
  });

  it.each([
    ['sha256', '1.2.840.113549.1.1.11', '1.2.840.10045.4.3.2'],
    ['sha384', '1.2.840.113549.1.1.12', '1.2.840.10045.4.3.3'],
    ['sha512', '1.2.840.113549.1.1.13', '1.2.840.10045.4.3.4'],
  ])('may use %s with RSA or ECDSA', (hash, rsaOid, ecOid) => {
    expect(codesOf(forgeCsr(rsa, { hash, algorithm: seq(oid(rsaOid), nul()) }))).toEqual([]);
    expect(codesOf(forgeCsr(ec, { hash, algorithm: seq(oid(ecOid)) }))).toEqual([]);
  });

  it.each([
    ['sha1', '1.2.840.113549.1.1.5', 'sha1WithRSAEncryption'],
    ['md5', '1.2.840.113549.1.1.4', 'md5WithRSAEncryption'],
    ['sha224', '1.2.840.113549.1.1.14', 'sha224WithRSAEncryption'],
    ['sha256', '1.2.840.113549.1.1.10', 'RSASSA-PSS'],
  ])('is refused with %s under %s', (hash, algorithm, name) => {
    const [fault] = faultsOf(forgeCsr(rsa, { hash, algorithm: seq(oid(algorithm), nul()) }));
    expect(fault).toEqual({ code: 'bad_csr_signature', fault: 'algorithm', algorithm: name });
  });

  it('has an algorithm identifier with exactly the right parameters', () => {
    const refused = [
      forgeCsr(rsa, { algorithm: seq(oid('1.2.840.113549.1.1.11')) }),
      forgeCsr(rsa, { algorithm: seq(oid('1.2.840.113549.1.1.11'), seq()) }),
      forgeCsr(ec, { algorithm: seq(oid('1.2.840.10045.4.3.2'), seq()) }),
      forgeCsr(ec, { algorithm: algorithms.sha256WithRsa }),
      forgeCsr(rsa, { algorithm: algorithms.ecdsaWithSha256 }),
    ];
    for (const der of refused) expect(codesOf(der)).toEqual(['bad_csr_signature']);
  });

  it('is DER itself when it is an ECDSA signature', () => {
    const info = readCsr(forged({}));
    if (!info.ok) throw new Error('the forged request is not read');
    const good = sign('sha256', info.csr.infoDer, ec.privateKey);
    const [r, s] = [good.subarray(4, 4 + (good[3] ?? 0)), good.subarray(6 + (good[3] ?? 0))];
    const wrap = (signature: Uint8Array) =>
      seq(info.csr.infoDer, algorithms.ecdsaWithSha256, tlv(0x03, fromHex('00'), signature));
    expect(codesOf(wrap(seq(tlv(2, r), tlv(2, s))))).toEqual([]);
    const wrong = [
      seq(tlv(2, fromHex('0000'), r), tlv(2, s)),
      Buffer.concat([seq(tlv(2, r), tlv(2, s)), fromHex('00')]),
      seq(tlv(2, r), tlv(2, s), int(1)),
      seq(int(0), int(0)),
      sign('sha256', info.csr.infoDer, { key: ec.privateKey, dsaEncoding: 'ieee-p1363' }),
    ];
    for (const signature of wrong) expect(codesOf(wrap(signature))).toEqual(['bad_csr_signature']);
  });
});

describe('deviations that common software makes', () => {
  it('accepts NULL as the parameters of ECDSA, as mbedTLS writes them', () => {
    expect(codesOf(forgeCsr(ec, { algorithm: seq(oid('1.2.840.10045.4.3.2'), nul()) }))).toEqual([]);
  });

  it('accepts attributes in any order, as node-forge writes them', () => {
    const request = extensionRequest(subjectAltName(dns('example.com')));
    expect(codesOf(forged({ attributes: [request, seq(oid('1.2.3'), set(nul()))] }))).toEqual([]);
  });

  const extra = { sans: [dns('example.com')] };
  it.each<[string, CsrParts, CsrFault]>([
    [
      'an empty list of extensions',
      { attributes: [extensionRequest()] },
      { code: 'csr_san_mismatch', fault: 'no_extension' },
    ],
    [
      'an empty common name',
      { subject: seq(commonName('')), ...extra },
      { code: 'csr_cn_mismatch', count: 1, commonName: '' },
    ],
    [
      'two common names',
      { subject: seq(commonName('example.com'), commonName('www.example.com')), ...extra },
      { code: 'csr_cn_mismatch', count: 2, commonName: 'example.com' },
    ],
    [
      'two common names in one part of the subject',
      { subject: seq(set(seq(oid('2.5.4.3'), utf8('a')), seq(oid('2.5.4.3'), utf8('b')))), ...extra },
      { code: 'csr_cn_mismatch', count: 2, commonName: 'a' },
    ],
  ])('accepts %s for paid_ca and names the cause for free_ca', (_what, parts, fault) => {
    expect(codesOf(forged(parts), { product: 'paid_ca' })).toEqual([]);
    expect(faultsOf(forged(parts))).toEqual([fault]);
  });
});

describe('a CSR that is malformed for either product', () => {
  const san = subjectAltName(dns('example.com'));
  const request = extensionRequest(san);
  it.each<[string, CsrParts]>([
    ['a version other than 0', { version: int(1) }],
    ['a version that is negative', { version: fromHex('0201ff') }],
    ['a common name that is no text', { subject: seq(attributeOfName('2.5.4.3', int(1))) }],
    ['a part of the subject without attributes', { subject: seq(set()) }],
    ['a part of the subject with an implicit tag', { subject: seq(tlv(0xa1, commonName('a').subarray(2))) }],
    ['a subject that is a SET', { subject: set() }],
    ['two extensionRequest attributes', { attributes: [request, request] }],
    [
      'an extensionRequest with two values',
      { attributes: [seq(oid('1.2.840.113549.1.9.14'), set(seq(san), seq(san)))] },
    ],
    ['an extensionRequest without a value', { attributes: [seq(oid('1.2.840.113549.1.9.14'), set())] }],
    ['two SAN extensions', { attributes: [extensionRequest(san, san)] }],
    ['an empty SAN extension', { sans: [] }],
    ['a SAN that is not ASCII', { sans: [dns('b\u00fccher.com')] }],
    ['a SAN in a constructed encoding', { sans: [tlv(0xa2, tlv(0x16, Buffer.from('example.com')))] }],
    ['a SAN of an unknown kind', { sans: [tlv(0x89, Buffer.from('x'))] }],
    ['a SAN of a universal type', { sans: [tlv(0x16, Buffer.from('example.com'))] }],
    [
      'bytes after the SAN',
      { attributes: [extensionRequest(seq(oid('2.5.29.17'), octetString(seq(dns('a.com')), nul())))] },
    ],
    [
      'a criticality that is its default',
      { attributes: [extensionRequest(seq(oid('2.5.29.17'), bool(0), octetString(seq(dns('a.com')))))] },
    ],
    ['an attribute without values', { attributes: [seq(oid('1.2.840.113549.1.9.7'))] }],
    ['an element after the attributes', { afterAttributes: nul() }],
    ['a second set of attributes', { afterAttributes: tlv(0xa0) }],
    ['an element after a value of the subject', { subject: seq(set(seq(oid('2.5.4.3'), utf8('a'), nul()))) }],
    ['an element after the values of an attribute', { attributes: [seq(oid('1.2.3'), set(nul()), nul())] }],
    [
      'an element after the value of an extension',
      { attributes: [extensionRequest(seq(oid('1.2.3'), octetString(), nul()))] },
    ],
    ['an element after the public key', { spki: seq(seq(oid('1.3.101.112')), tlv(3, fromHex('00')), nul()) }],
    ['a public key of another shape', { spki: seq(int(1)) }],
    [
      'an RSA key that is no sequence',
      { spki: seq(seq(oid('1.2.840.113549.1.1.1'), nul()), tlv(3, fromHex('00'), nul())) },
    ],
  ])('%s', (_what, parts) => {
    for (const product of ['free_ca', 'paid_ca'] as const)
      expect(codesOf(forged(parts), { product })).toEqual(['malformed_csr']);
  });

  it('an element after the signature', () => {
    const { content } = parseDer(forged({}));
    expect(codesOf(seq(content))).toEqual([]);
    expect(codesOf(seq(content, nul()))).toEqual(['malformed_csr']);
  });

  it('says how to write a name that is not ASCII, as OpenSSL takes it over from its command line', () => {
    expect(
      faultsOf(forged({ sans: [dns(Buffer.from('b\u00fccher.com').toString('latin1'))] })),
    ).toMatchObject([
      { detail: expect.stringContaining('not ASCII; it must be an A-label (xn--)') as string },
    ]);
  });

  it('reports the fault and its place', () => {
    const detail = 'a version other than 0 (at byte 6)';
    expect(faultsOf(forged({ version: int(1) }))).toEqual([
      { code: 'malformed_csr', fault: 'not_der', detail },
    ]);
  });
});

describe('the csr member of a request', () => {
  const faultsIn = (value: string) => {
    const decoded = decodeCsrField(value);
    return decoded.ok ? [] : decoded.faults;
  };

  it('is DER in base64 without line breaks', () => {
    const decoded = decodeCsrField(forged({}).toString('base64'));
    expect(decoded.ok && Buffer.from(decoded.der).subarray(0, 1)).toEqual(fromHex('30'));
  });

  it.each([
    ['', { fault: 'empty' }],
    ['QQ', { fault: 'not_base64' }],
    ['QUJD\nQUJD', { fault: 'white_space' }],
    ['-_-_', { fault: 'not_base64' }],
    ['\ud800', { fault: 'not_base64' }],
    ['A'.repeat(200_000), { fault: 'too_long', maxBytes: 65_536 }],
    [encodePem('CERTIFICATE REQUEST', forged({})), { fault: 'pem' }],
    [encodePem('NEW CERTIFICATE REQUEST', forged({})), { fault: 'pem' }],
    [encodePem('CERTIFICATE', forged({})), { fault: 'pem_of_other' }],
    ['-----begin certificate request-----', { fault: 'pem' }],
    [Buffer.from(encodePem('CERTIFICATE REQUEST', forged({}))).toString('base64'), { fault: 'pem' }],
    [Buffer.from(encodePem('CERTIFICATE', forged({}))).toString('base64'), { fault: 'pem_of_other' }],
  ])('recognizes %#', (value, fault) => {
    expect(faultsIn(value)).toEqual([{ code: 'malformed_csr', ...fault }]);
  });

  it('recognizes a private key, and never repeats it', () => {
    const pem = ec.privateKey.export({ type: 'sec1', format: 'pem' }).toString();
    const der = ec.privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64');
    for (const value of [pem, der, `${'A'.repeat(200_000)}${pem}`]) {
      expect(faultsIn(value)).toEqual([{ code: 'malformed_csr', fault: 'private_key' }]);
    }
  });
});
