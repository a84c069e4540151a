import fc from 'fast-check';
import { bits, bool, fromHex, int, nul, octetString, oid, seq, set, tlv, utf8 } from '../testing/der-forge';
import { parseDer } from './der-element';
import { DerError } from './der-error';
import { DerReader, explicitContent } from './der-reader';
import { bitStringBytes, integerValue, objectIdentifierValue, textValue, timeValue } from './der-values';

const faultOf = (bytes: Uint8Array) => {
  try {
    parseDer(bytes);
    return undefined;
  } catch (error) {
    if (error instanceof DerError) return error.reason;
    throw error;
  }
};

describe('DER: one encoding of a value, and only that one is read', () => {
  it.each([
    ['a length in more bytes than will do', '30810101', /minimal/],
    ['a long length with a leading zero', '3082000102', /minimal/],
    ['an indefinite length', '3080020100' + '0000', /indefinite/],
    ['a length of five bytes', '308500000000010500', /four bytes/],
    ['a reserved length of 127 bytes', '30ff', /four bytes/],
    ['bytes after the end', '020100' + '00', /follow after/],
    ['no bytes', '', /cut off/],
    ['a tag alone', '30', /cut off/],
    ['a length that is cut off', '3082', /cut off/],
    ['content that is cut off', '3005020100', /ends after/],
    ['an element that ends after its parent', '30030202' + '00', /ends after/],
    ['a high tag number', '1f0100', /above 30/],
    ['a high context tag number', 'bf1f020500', /above 30/],
    ['end-of-contents', '0000', /no place/],
    ['REAL', '090100', /no place/],
    ['a constructed OCTET STRING', '2403040100', /constructed/],
    ['a constructed UTF8String', '2c030c0141', /constructed/],
    ['a primitive SEQUENCE', '1000', /not constructed/],
    ['a primitive SET', '1100', /not constructed/],
    ['an empty INTEGER', '0200', /without content/],
    ['an INTEGER with a leading zero', '02020001', /minimal/],
    ['a negative INTEGER with a leading FF', '0202ff80', /minimal/],
    ['an ENUMERATED with a leading zero', '0a020001', /minimal/],
    ['a BOOLEAN of 01', '010101', /BOOLEAN/],
    ['a BOOLEAN of two bytes', '0102ffff', /BOOLEAN/],
    ['a NULL with content', '050100', /NULL/],
    ['an empty OBJECT IDENTIFIER', '0600', /wrong length/],
    ['an OBJECT IDENTIFIER with a padded arc', '06032a8001', /minimal/],
    ['an OBJECT IDENTIFIER with a padded first arc', '0602802a', /minimal/],
    ['an OBJECT IDENTIFIER that is cut off', '06022a86', /cut off/],
    ['an empty BIT STRING without its count', '0300', /unused bits/],
    ['a BIT STRING with eight unused bits', '03020800', /unused bits/],
    ['an empty BIT STRING with unused bits', '030101', /unused bits/],
    ['a BIT STRING whose unused bits are set', '03020101', /unused bits/],
    ['a UTF8String that is not UTF-8', '0c02c080', /UTF-8/],
    ['a PrintableString with a control character', '130100', /characters/],
    ['an IA5String with a byte above 7F', '160180', /characters/],
    ['a BMPString of an odd length', '1e0141', /length/],
    ['a UTCTime without seconds', '170b' + Buffer.from('2601010000Z').toString('hex'), /characters/],
    ['a UTCTime with a time zone', '1711' + Buffer.from('260101000000+0100').toString('hex'), /characters/],
    [
      'a GeneralizedTime with trailing zeros',
      '1812' + Buffer.from('20260101000000.50Z').toString('hex'),
      /characters/,
    ],
    ['a SET OF in the wrong order', '3106020102020101', /ascending/],
  ])('refuses %s', (_what, hex, reason) => expect(faultOf(fromHex(hex))).toMatch(reason));

  it('accepts each of these in its one form', () => {
    const everything = seq(
      bool(0xff),
      bool(0x00),
      int(0),
      int(127),
      int(128),
      int(2n ** 64n),
      bits(fromHex('80'), 7),
      bits(fromHex('')),
      octetString(fromHex('00')),
      nul(),
      oid('2.5.4.3'),
      utf8('ü'),
      set(int(1), int(1), int(2), octetString()),
      set(),
      tlv(0x80, fromHex('ff')),
      tlv(0xa3, int(5)),
      octetString(Buffer.alloc(200)),
      octetString(Buffer.alloc(300)),
    );
    expect(faultOf(everything)).toBeUndefined();
    expect(parseDer(everything).children).toHaveLength(18);
  });
});

describe('bounded work', () => {
  const nested = (depth: number) =>
    Array.from({ length: depth - 1 }).reduce((inner: Uint8Array) => seq(inner), seq());

  it('reads 16 levels and refuses 17', () => {
    expect(faultOf(nested(16))).toBeUndefined();
    expect(faultOf(nested(17))).toMatch(/deeper than 16/);
  });

  it('rejects 64 KiB and one byte before parsing it', () => {
    expect(faultOf(Buffer.alloc(64 * 1024 + 1, 0x30))).toMatch(/more than 65536 bytes/);
    expect(faultOf(octetString(Buffer.alloc(64 * 1024 - 4)))).toBeUndefined();
  });

  it('counts every element, and stops at the first one too many', () => {
    const limits = { maxBytes: 1000, maxDepth: 16, maxElements: 10 };
    expect(parseDer(seq(...Array.from({ length: 9 }, nul)), limits).children).toHaveLength(9);
    const more = seq(...Array.from({ length: 10 }, nul));
    expect(() => parseDer(more, limits)).toThrow(/too many elements/);
  });
});

describe('reading values', () => {
  it('reads integers of every sign and size', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 300n }), (value) =>
        expect(integerValue(parseDer(int(value)), 'it')).toBe(value),
      ),
    );
    expect(integerValue(parseDer(fromHex('0201ff')), 'it')).toBe(-1n);
    expect(integerValue(parseDer(fromHex('020180')), 'it')).toBe(-128n);
    expect(integerValue(parseDer(fromHex('0202ff7f')), 'it')).toBe(-129n);
  });

  it.each([
    '1.2.840.113549.1.1.1',
    '2.5.29.17',
    '2.999.3',
    '0.39',
    '1.0',
    '2.25.329800735698586629295641978511506172918',
  ])('reads the object identifier %s', (dotted) =>
    expect(objectIdentifierValue(parseDer(oid(dotted)), 'it')).toBe(dotted),
  );

  it('reads text of every kind that a name may have', () => {
    const cases: [number, Buffer][] = [
      [0x0c, Buffer.from('añ')],
      [0x14, Buffer.from('añ', 'latin1')],
      [0x1e, Buffer.from('añ', 'utf16le').swap16()],
      [0x1c, fromHex('00000061000000f1')],
    ];
    for (const [tag, content] of cases) expect(textValue(parseDer(tlv(tag, content)), 'it')).toBe('añ');
    expect(() => textValue(parseDer(tlv(0x1c, fromHex('00110000'))), 'it')).toThrow(DerError);
    expect(() => textValue(parseDer(int(1)), 'it')).toThrow(DerError);
  });

  it('reads times of the calendar only', () => {
    const time = (tag: number, text: string) =>
      timeValue(parseDer(tlv(tag, Buffer.from(text))), 'it').toISOString();
    expect(time(0x17, '491231235959Z')).toBe('2049-12-31T23:59:59.000Z');
    expect(time(0x17, '500101000000Z')).toBe('1950-01-01T00:00:00.000Z');
    expect(time(0x18, '20500101000000Z')).toBe('2050-01-01T00:00:00.000Z');
    for (const bad of ['260230000000Z', '261301000000Z', '260101240000Z', '260101006000Z', '260101000060Z']) {
      expect(() => time(0x17, bad)).toThrow(DerError);
    }
    expect(() => time(0x18, '20260101000000.5Z')).toThrow(/fractions/);
  });

  it('rejects a BIT STRING with unused bits when whole bytes are required', () => {
    expect(() => bitStringBytes(parseDer(bits(fromHex('80'), 7)), 'it')).toThrow(DerError);
  });

  it('rejects missing elements, extra elements and elements of another type', () => {
    const reader = () => DerReader.sequence(parseDer(seq(int(1), nul())), 'it');
    expect(() => reader().end()).toThrow(/more elements/);
    expect(() => DerReader.sequence(parseDer(seq()), 'it').next('part')).toThrow(/it has no part/);
    expect(() => reader().nextSequence('part')).toThrow(/another type/);
    expect(() => reader().rest(3, 'part')).toThrow(DerError);
    expect(reader().optionalContext(0)).toBeUndefined();
    expect(() => DerReader.setOf(parseDer(tlv(0xa0, int(1), int(2))), 'it')).toThrow(/another type/);
    expect(() => explicitContent(parseDer(tlv(0xa0, int(1), int(1))), 'it')).toThrow(DerError);
  });
});

it('throws only DerError, for any bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => void faultOf(bytes)),
    { numRuns: 5000 },
  );
});
