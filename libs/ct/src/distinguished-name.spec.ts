import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { attributeText, formatDistinguishedName, organizationType, readDistinguishedName } from './index';
import { attribute, commonName, forgeCertificate, hex, ids, int, seq, set, text, tlv } from './testing/forge';

jest.setTimeout(60_000);

const oid = (digits: string) => tlv(0x06, hex(digits));
const country = attribute(hex('550406'), text(0x13, 'US'));
const organization = (value: string) => attribute(ids.organization, text(0x0c, value, 'utf8'));
const pair = (id: string, value: Uint8Array) => seq(oid(id), value);
const bmp = (value: string) => tlv(0x1e, Buffer.from(value, 'utf16le').swap16());
const universal = (...codePoints: number[]) =>
  tlv(0x1c, ...codePoints.map((each) => Buffer.from(each.toString(16).padStart(8, '0'), 'hex')));

/** What OpenSSL makes of the issuer, with characters as they are. It calls the street otherwise than the RFC. */
function openssl(name: Uint8Array): string {
  const input = forgeCertificate({ issuer: name });
  const options = ['-inform', 'DER', '-noout', '-issuer', '-nameopt', 'RFC2253,-esc_msb'];
  const line = execFileSync('openssl', ['x509', ...options], { input, stdio: 'pipe' }).toString();
  return line
    .replace(/^issuer=/, '')
    .replace(/\n$/, '')
    .replaceAll('street=', 'STREET=');
}

describe('as OpenSSL writes it', () => {
  const several = seq(
    country,
    set(pair('55040a', text(0x13, 'Example, Inc.')), pair('55040b', text(0x0c, 'Ops'))),
    commonName('Example CA'),
  );
  const [alien, street] = ['2a030405', '550409'] as const;
  const [uid, dc] = ['0992268993f22c640101', '0992268993f22c640119'] as const;
  it.each<[string, Uint8Array]>([
    ['an ordinary name', seq(country, organization("Let's Encrypt"), commonName('R11'))],
    ['an empty name', seq()],
    ['levels with several attributes', several],
    ['every special character', seq(commonName('a,b+c"d\\e<f>g;h=i#j'))],
    ['a space at either end', seq(commonName('  both  '), commonName(' '), commonName('\\ '))],
    ['a number sign first', seq(commonName('#1 CA'), organization('# '))],
    ['controls', seq(commonName('a\0b\nc\x7fd'))],
    ['letters beyond ASCII', seq(organization('Généralité 認証局 🔒'), commonName('Ünïcode'))],
    ['BMPString', seq(attribute(ids.commonName, bmp('Ελλάς')))],
    ['UniversalString', seq(attribute(ids.commonName, universal(0x4e2d, 0x1f512)))],
    [
      'Latin-1 in a T61String',
      seq(attribute(ids.commonName, tlv(0x14, Buffer.from('Sociét\xe9', 'latin1')))),
    ],
    [
      'IA5String and NumericString',
      seq(attribute(ids.commonName, text(0x16, 'ia5')), attribute(ids.commonName, text(0x12, '12'))),
    ],
    ['an empty value', seq(commonName(''))],
    ['an unknown type', seq(set(pair(alien, text(0x0c, 'x'))), country)],
    [
      'the other types of the RFC',
      seq(
        set(pair(street, text(0x13, '1 Main St'))),
        set(pair(uid, text(0x13, 'u'))),
        set(pair(dc, text(0x16, 'example'))),
      ),
    ],
    [
      'types that CAs use besides',
      seq(
        ...[
          '550405',
          '55040f',
          '550411',
          '550461',
          '2b0601040182373c020103',
          '2a864886f70d010901',
          '550404',
          '55042a',
          '55040c',
        ].map((id) => set(pair(id, text(0x13, 'v')))),
      ),
    ],
  ])('%s', (_, name) => {
    expect(formatDistinguishedName(name)).toBe(openssl(name));
  });

  // Apart from a number sign alone, which OpenSSL forgets to escape.
  it('any text in any attribute', () => {
    const value = fc.stringMatching(/^[ -~\u00a1-\u2fff]{0,12}$/).filter((each) => each !== '#');
    const id = fc.constantFrom('550403', '55040a', '55040b', '550407', '550408', '2a0304');
    const one = fc.tuple(id, fc.constantFrom(0x0c, 0x1e), value);
    const forged = ([digits, tag, words]: [string, number, string]) =>
      pair(digits, tag === 0x1e ? bmp(words) : text(tag, words, 'utf8'));
    const level = fc.array(one, { minLength: 1, maxLength: 3 }).map((each) => set(...each.map(forged)));
    fc.assert(
      fc.property(fc.array(level, { minLength: 8, maxLength: 16 }), (levels) => {
        const name = seq(...levels);
        expect(formatDistinguishedName(name)).toBe(openssl(name));
      }),
      { numRuns: 40 },
    );
  });
});

it('escapes a single number sign', () => {
  expect(formatDistinguishedName(seq(commonName('#')))).toBe('CN=\\#');
});

it('shows the DER of a value that is not a string', () => {
  const name = seq(
    country,
    attribute(ids.commonName, int('05')),
    attribute(ids.organization, tlv(0x03, hex('00a5'))),
  );
  expect(formatDistinguishedName(name)).toBe('O=#030200A5,CN=#020105,C=US');
});

describe('an invalid Name', () => {
  it.each<[string, Uint8Array]>([
    ['no SEQUENCE', set()],
    ['bytes behind it', Buffer.concat([seq(country), hex('00')])],
    ['a level that is no SET', seq(seq(oid('550403')))],
    ['an empty level', seq(set())],
    ['an attribute that is no SEQUENCE', seq(set(oid('550403')))],
    ['an attribute without a value', seq(set(seq(oid('550403'))))],
    ['an attribute with two values', seq(set(seq(oid('550403'), text(0x0c, 'a'), text(0x0c, 'b'))))],
    ['an attribute without a type', seq(set(seq(text(0x0c, 'a'))))],
    ['a type that does not end', seq(set(pair('5504ff', text(0x0c, 'a'))))],
    ['one that is cut off', seq(country, commonName('Example CA')).subarray(0, -2)],
  ])('is shown unchanged: %s', (_, der) => {
    expect(readDistinguishedName(der)).toBeNull();
    expect(formatDistinguishedName(der)).toBe(`#${Buffer.from(der).toString('hex').toUpperCase()}`);
  });

  it('never throws, and returns well-formed text of limited length', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        const shown = [bytes, seq(bytes), seq(set(seq(oid('550403'), bytes)))].map(formatDistinguishedName);
        for (const each of shown) expect(each.isWellFormed()).toBe(true);
      }),
    );
    const huge = formatDistinguishedName(
      seq(commonName('x'.repeat(1_000_000)), ...Array<Buffer>(50_000).fill(country)),
    );
    expect(huge.length).toBeLessThan(5_000);
    expect(formatDistinguishedName(Buffer.alloc(1_000_000)).length).toBeLessThan(5_000);
    const lone = seq(attribute(ids.commonName, tlv(0x1e, hex('d800'))));
    expect(formatDistinguishedName(lone)).toBe('CN=\ufffd');
    expect(readDistinguishedName(lone)?.[0]?.[0]?.text).toBe('\ufffd');
  });
});

describe('the text of an attribute', () => {
  const textOf = (...levels: Uint8Array[]) =>
    attributeText(readDistinguishedName(seq(...levels)) ?? [], organizationType);

  it('is that of the most specific level that has one', () => {
    expect(textOf(organization('Root'), organization('Leaf'), commonName('x'))).toBe('Leaf');
    expect(textOf(organization('Root'), organization(''))).toBe('Root');
  });

  it('is null when it is absent or not a string', () => {
    expect(textOf(commonName('x'))).toBeNull();
    expect(textOf(attribute(ids.organization, int('05')))).toBeNull();
  });
});
