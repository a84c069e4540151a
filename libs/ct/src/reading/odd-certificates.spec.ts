import type { ReadingFault } from './faults';
import { type Issued, readIssued } from './read-issued';
import {
  alternativeNames,
  attribute,
  commonName,
  dns,
  endless,
  extension,
  forgeCertificate,
  forgeTbs,
  generalizedTime,
  hex,
  ids,
  int,
  keyId,
  octetString,
  poison,
  sctList,
  seq,
  set,
  signed,
  spki,
  tbsParts,
  type TbsParts,
  text,
  tlv,
  utcTime,
} from '../testing/forge';

const read = (parts: TbsParts) => readIssued(forgeCertificate(parts), 'certificate');

/** What a correct certificate reads as. */
const usual = {
  serial: '1234',
  notBefore: Date.UTC(2026, 0, 1),
  notAfter: Date.UTC(2026, 11, 31),
  issuerDer: seq(commonName('Issuer')),
  subjectDer: seq(),
  spkiDer: spki,
  dnsNames: ['example.com'],
  droppedNames: 0,
  authorityKeyId: null,
  hasPoison: false,
  hasSctList: false,
  faults: [],
} satisfies Partial<Issued>;

it('a correct certificate has no fault', () => expect(read({})).toMatchObject(usual));

describe('reports oddities, and reads the rest', () => {
  const names = alternativeNames(dns('example.com'));

  it.each<[string, TbsParts, Partial<Issued>]>([
    ['a negative serial number', { serial: int('ff01') }, { serial: '-ff', faults: ['negative_serial'] }],
    ['a serial number of zero', { serial: int('00') }, { serial: '00' }],
    ['leading zeroes in the serial number', { serial: int('00008f') }, { serial: '8f' }],
    ['an empty serial number', { serial: tlv(2) }, { serial: null, faults: ['serial'] }],
    ['65 bytes of serial number', { serial: int('11'.repeat(65)) }, { serial: null, faults: ['serial'] }],
    ['40 bytes of serial number', { serial: int('11'.repeat(40)) }, { serial: '11'.repeat(40) }],
    ['a serial number that is a text', { serial: text(0x0c, '\x12\x34') }, { faults: ['wrong_tag'] }],
    ['no serial number', { serial: null }, { serial: null, faults: ['missing_part'] }],
    ['no version', { version: null }, {}],
    [
      'no subject and no key',
      { subject: null, spki: null },
      { spkiDer: null, subjectDer: null, faults: ['missing_part'] },
    ],
    ['a subject that is a SET', { subject: set() }, { subjectDer: set(), faults: ['wrong_tag'] }],
    [
      'an issuer that is a text',
      { issuer: text(0x0c, 'me') },
      { issuerDer: text(0x0c, 'me'), faults: ['wrong_tag'] },
    ],
    ['no extensions', { extensions: null }, { dnsNames: [] }],
    ['an empty extension list', { extensions: [] }, { dnsNames: [] }],
    [
      'extensions before the subject',
      { subject: Buffer.concat([tlv(0xa3, seq(names)), seq()]), extensions: null },
      {},
    ],
    ['something after the extensions', { tail: hex('0500') }, { faults: ['wrong_tag'] }],
    ['a second [3]', { tail: tlv(0xa3, seq(names)) }, { faults: ['wrong_tag'] }],
    ['unique identifiers', { tail: tlv(0x81, hex('0011')) }, {}],
    ['poison', { extensions: [names, poison] }, { hasPoison: true, faults: ['poison'] }],
    ['an SCT list', { extensions: [names, sctList] }, { hasSctList: true }],
    [
      'two SCT lists',
      { extensions: [sctList, names, sctList] },
      { hasSctList: true, faults: ['duplicate_extension'] },
    ],
    ['a key identifier', { extensions: [names, keyId('0aff')] }, { authorityKeyId: '0aff' }],
    ['a key identifier of 65 bytes', { extensions: [names, keyId('0a'.repeat(65))] }, {}],
    [
      'an empty validity',
      { validity: seq() },
      { notBefore: null, notAfter: null, faults: ['not_before', 'not_after'] },
    ],
    [
      'an unreadable time',
      { validity: seq(utcTime('269901000000Z'), utcTime('261231000000Z')) },
      { notBefore: null, faults: ['not_before'] },
    ],
    ['only one time', { validity: seq(utcTime('260101000000Z')) }, { notAfter: null, faults: ['not_after'] }],
    [
      'a GeneralizedTime in 2026',
      { validity: seq(utcTime('260101000000Z'), generalizedTime('20261231000000Z')) },
      { faults: ['time_form'] },
    ],
  ])('%s', (_what, parts, expected) => {
    expect(read(parts)).toMatchObject({ ...usual, ...expected });
  });

  it.each<[string, Uint8Array[], string[], ReadingFault[]]>([
    [
      'twice',
      [alternativeNames(dns('a.example')), alternativeNames(dns('b.example'))],
      ['a.example', 'b.example'],
      ['duplicate_extension'],
    ],
    [
      'as a SET',
      [extension(ids.subjectAlternativeName, set(dns('a.example')))],
      ['a.example'],
      ['alternative_names'],
    ],
    [
      'in an OCTET STRING in pieces',
      [seq(tlv(6, ids.subjectAlternativeName), tlv(0x24, octetString(seq(dns('a.example')))))],
      ['a.example'],
      [],
    ],
    ['without an OCTET STRING', [seq(tlv(6, ids.subjectAlternativeName))], [], ['alternative_names']],
    [
      'of a name in pieces',
      [alternativeNames(tlv(0xa2, text(0x16, 'a.example')))],
      ['a.example'],
      ['alternative_names'],
    ],
    [
      'with bytes after it',
      [extension(ids.subjectAlternativeName, Buffer.concat([seq(dns('a.example')), hex('0000')]))],
      ['a.example'],
      ['alternative_names'],
    ],
    [
      'with a name that ends after it',
      [extension(ids.subjectAlternativeName, hex('300d820f612e6578616d706c652e636f6d'))],
      ['a.example.c'],
      ['alternative_names', 'cut_off'],
    ],
    ['empty', [alternativeNames()], [], []],
    [
      'of other kinds of names',
      [
        alternativeNames(
          tlv(0x87, hex('7f000001')),
          text(0x81, 'a@a.example'),
          text(0x86, 'https://u.example/'),
        ),
      ],
      [],
      [],
    ],
  ])('alternative names %s', (_what, extensions, dnsNames, faults) => {
    expect(read({ extensions })).toMatchObject({ dnsNames, faults });
  });
});

describe('encodings that are not DER', () => {
  it('lengths in more bytes than needed', () => {
    const parts = tbsParts({});
    const length = Buffer.alloc(9);
    length.writeUInt32BE(Buffer.concat(parts).length, 5);
    length[0] = 0x88;
    const tbs = Buffer.concat([hex('30'), length, ...parts]);
    expect(readIssued(signed(tbs), 'certificate')).toMatchObject({ ...usual, faults: ['ber_length'] });
  });

  it('only indefinite lengths', () => {
    const name = endless(0xa2, text(0x16, 'example.com'));
    const value = endless(0x24, octetString(endless(0x30, name)));
    const wrapper = endless(0xa3, endless(0x30, endless(0x30, tlv(6, ids.subjectAlternativeName), value)));
    const validity = endless(0x30, utcTime('260101000000Z'), utcTime('261231000000Z'));
    const subject = endless(
      0x30,
      endless(0x31, endless(0x30, tlv(6, ids.commonName), text(0x13, 'www.example.com'))),
    );
    const version = endless(0xa0, int('02'));
    const der = endless(0x30, endless(0x30, ...tbsParts({ wrapper, validity, subject, version })));
    const { dnsNames, faults, notAfter, subjectDer, serial } = readIssued(der, 'certificate');
    expect({ dnsNames, notAfter, subjectDer, serial }).toEqual({
      dnsNames: ['example.com', 'www.example.com'],
      notAfter: usual.notAfter,
      subjectDer: subject,
      serial: '1234',
    });
    expect(faults).toEqual(['alternative_names', 'ber_length']);
  });

  it('bytes after the end', () => {
    const der = Buffer.concat([forgeCertificate(), hex('00')]);
    expect(readIssued(der, 'certificate')).toMatchObject({ ...usual, faults: ['trailing_bytes'] });
    expect(readIssued(Buffer.concat([forgeTbs(), hex('00')]), 'tbs').faults).toEqual(['trailing_bytes']);
  });

  it('a missing end: the data before it is read', () => {
    const whole = forgeCertificate({ extensions: [alternativeNames(dns('a.example'), dns('b.example'))] });
    const cut = whole.subarray(0, whole.indexOf('b.example') + 'b.ex'.length);
    expect(readIssued(cut, 'certificate')).toMatchObject({
      serial: '1234',
      notAfter: usual.notAfter,
      dnsNames: ['a.example', 'b.ex'],
      faults: ['cut_off'],
    });
  });

  it('multi-byte tags are skipped', () => {
    const tagged = Buffer.concat([hex('bf8f7f'), hex('03'), hex('060100')]);
    expect(read({ extensions: [tagged, alternativeNames(tagged, dns('example.com'))] })).toMatchObject(usual);
  });
});

it.each<[string, Uint8Array]>([
  ['nothing', Buffer.alloc(0)],
  ['one byte', hex('30')],
  ['another type', hex('020101')],
  ['an empty sequence', seq()],
  ['a sequence of a number', seq(int('01'))],
  ['PEM', Buffer.from('-----BEGIN CERTIFICATE-----\n')],
])('%s is reported as no certificate', (_what, der) => {
  const { faults, layout, dnsNames, serial, notAfter, spkiDer } = readIssued(der, 'certificate');
  expect(faults).toContain('no_tbs');
  expect([layout, dnsNames, serial, notAfter, spkiDer]).toEqual([null, [], null, null, null]);
});

it('the poison determines the kind', () => {
  const extensions = [alternativeNames(dns('example.com'))];
  const [without, withPoison] = [forgeTbs({ extensions }), forgeTbs({ extensions: [...extensions, poison] })];
  expect(readIssued(signed(withPoison), 'precertificate').faults).toEqual([]);
  expect(readIssued(signed(without), 'precertificate').faults).toEqual(['poison']);
  expect(readIssued(without, 'tbs').faults).toEqual([]);
  expect(readIssued(withPoison, 'tbs').faults).toEqual(['poison']);
});

it('a Uint8Array that is a view of a larger one is read at its offset', () => {
  const der = forgeCertificate();
  const larger = new Uint8Array(der.length + 20);
  larger.set(der, 7);
  expect(readIssued(larger.subarray(7, 7 + der.length), 'certificate')).toMatchObject(usual);
});

it('every common name is read, also beside others in one SET', () => {
  const cn = (value: string) => seq(tlv(6, ids.commonName), text(0x13, value));
  const subject = seq(
    attribute(ids.organization, text(0x0c, 'o.example')),
    set(cn('one.example'), seq(tlv(6, ids.organization), text(0x13, 'x')), cn('two.example')),
    commonName('three.example'),
  );
  expect(read({ subject, extensions: null }).dnsNames).toEqual([
    'one.example',
    'two.example',
    'three.example',
  ]);
});
