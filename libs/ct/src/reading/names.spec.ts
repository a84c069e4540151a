import { domainToASCII } from 'node:url';
import fc from 'fast-check';
import { readIssued } from '../index';
import {
  alternativeNames,
  attribute,
  commonName,
  dns,
  forgeCertificate,
  ids,
  seq,
  text,
  tlv,
} from '../testing/forge';

function namesOfSan(...values: readonly (string | Uint8Array)[]) {
  const der = forgeCertificate({ extensions: [alternativeNames(...values.map(dns))] });
  const { dnsNames, droppedNames } = readIssued(der, 'certificate');
  return { dnsNames, droppedNames };
}

function namesOfSubject(...attributes: readonly Uint8Array[]) {
  const der = forgeCertificate({ subject: seq(...attributes), extensions: null });
  const { dnsNames, droppedNames, faults } = readIssued(der, 'certificate');
  return { dnsNames, droppedNames, faults };
}

const label63 = 'l'.repeat(63);
const name253 = [label63, label63, label63, 'm'.repeat(61)].join('.');

describe('a name is', () => {
  it.each<[string, string, string[]]>([
    ['kept unchanged', 'www.example.com', ['www.example.com']],
    ['put in lower case', 'WWW.Example.COM', ['www.example.com']],
    ['kept as a wildcard', '*.example.com', ['*.example.com']],
    ['kept as a wildcard in part of a label', 'f*.example.com', ['f*.example.com']],
    ['kept in Punycode', 'xn--bcher-kva.example', ['xn--bcher-kva.example']],
    ['kept in Punycode that means nothing', 'xn--99999999.example', ['xn--99999999.example']],
    ['kept with underscores', '_dmarc.example.com', ['_dmarc.example.com']],
    ['kept with a single label', 'localhost', ['localhost']],
    ['without a dot at its end', 'example.com.', ['example.com']],
    ['without dots at its ends', '..example.com...', ['example.com']],
    ['without white space around it', ' \t example.com\r\n', ['example.com']],
    ['without http://', 'http://example.com', ['example.com']],
    ['without HTTPS:// and path', 'HTTPS://Example.com/a/b?c#d', ['example.com']],
    ['without a path', 'example.com/', ['example.com']],
    ['without a port', 'https://example.com:8443/', ['example.com']],
    ['parted at NUL', 'bank.example\0.evil.example', ['bank.example', 'evil.example']],
    ['not parted by a NUL at its end', 'bank.example\0', ['bank.example']],
    ['as long as may be', name253, [name253]],
    ['as long as may be with the dot', `${name253}.`, [name253]],
    ['with digits in any label but the last', '1.2.3.4.example', ['1.2.3.4.example']],
  ])('%s', (_what, given, dnsNames) => {
    expect(namesOfSan(given)).toEqual({ dnsNames, droppedNames: 0 });
    expect(namesOfSubject(commonName(given))).toEqual({ dnsNames, droppedNames: 0, faults: [] });
  });
});

describe('no name is', () => {
  it.each<[string, string]>([
    ['nothing', ''],
    ['a dot', '.'],
    ['white space', '  '],
    ['NUL', '\0\0'],
    ['an IPv4 address', '192.0.2.1'],
    ['an IPv4 address as a URL', 'https://192.0.2.1/'],
    ['an IPv6 address', '2001:db8::1'],
    ['an IPv6 address in brackets', '[2001:db8::1]'],
    ['a number', '12345'],
    ['a mailbox', 'someone@example.com'],
    ['a person', 'Some One'],
    ['two names', 'a.example, b.example'],
    ['a domain with a label of 64', `www.${label63}l.com`],
    ['a single label of 254', 'l'.repeat(254)],
    ['a text of 5,000', 'a'.repeat(5000)],
    ['another scheme', 'ftp://example.com'],
    ['control characters', 'exa\x07mple'],
    ['markup', '<b>.com'],
  ])('%s; it is dropped and counted', (_what, given) => {
    expect(namesOfSan(given)).toEqual({ dnsNames: [], droppedNames: 1 });
    expect(namesOfSubject(commonName(given))).toEqual({
      dnsNames: [],
      droppedNames: 1,
      faults: ['dropped_name'],
    });
  });
});

it('returns each name once, alternative names first, in order', () => {
  const der = forgeCertificate({
    subject: seq(commonName('B.example'), commonName('c.example')),
    extensions: [alternativeNames(dns('b.example'), dns('a.example'), dns('B.EXAMPLE.'), dns('not a name'))],
  });
  expect(readIssued(der, 'certificate')).toMatchObject({
    dnsNames: ['b.example', 'a.example', 'c.example'],
    droppedNames: 1,
  });
});

it('returns each of many names once', () => {
  const many = Array.from({ length: 300 }, (_, i) => `n${i % 100}.example`);
  expect(namesOfSan(...many).dnsNames).toEqual(many.slice(0, 100));
});

describe('text in other character sets', () => {
  const bmp = (value: string) => tlv(0x1e, Buffer.from(value, 'utf16le').swap16());
  const universal = (value: string) =>
    tlv(
      0x1c,
      ...Array.from(value, (c) =>
        Buffer.from([0, c.codePointAt(0)! >> 16, (c.codePointAt(0)! >> 8) & 255, c.codePointAt(0)! & 255]),
      ),
    );

  it.each<[string, Uint8Array]>([
    ['UTF8String', text(0x0c, 'bücher.example', 'utf8')],
    ['UTF8String in capitals and decomposed', text(0x0c, 'BU\u0308CHER.example', 'utf8')],
    ['BMPString', bmp('bücher.example')],
    ['BMPString with a byte too many', tlv(0x1e, bmp('bücher.example').subarray(2), Buffer.from([0]))],
    ['UniversalString', universal('bücher.example')],
    ['T61String, which CAs write in Latin-1', text(0x14, 'bücher.example')],
    ['PrintableString that is UTF-8', text(0x13, 'bücher.example', 'utf8')],
    ['IA5String that is Latin-1', text(0x16, 'bücher.example')],
  ])('%s', (_what, value) => {
    expect(namesOfSubject(attribute(ids.commonName, value))).toEqual({
      dnsNames: ['xn--bcher-kva.example'],
      droppedNames: 0,
      faults: [],
    });
  });

  it('DNS names in UTF-8 and in Latin-1', () => {
    expect(namesOfSan(Buffer.from('*.bücher.example'), 'bücher.example').dnsNames).toEqual([
      '*.xn--bcher-kva.example',
      'xn--bcher-kva.example',
    ]);
  });

  it('other types than strings are read as bytes, and reported', () => {
    expect(namesOfSubject(attribute(ids.commonName, text(0x04, 'a.example')))).toMatchObject({
      dnsNames: ['a.example'],
      faults: ['common_name'],
    });
    expect(namesOfSubject(seq(seq(tlv(6, ids.commonName))))).toMatchObject({
      dnsNames: [],
      faults: ['common_name'],
    });
  });

  it.each([
    ['a lone surrogate', bmp('\ud800.example')],
    ['no code point', tlv(0x1c, Buffer.from('7fffffff00000061', 'hex'))],
    ['noncharacters', text(0x0c, '\uffff.example', 'utf8')],
    ['a slash in disguise', text(0x0c, 'a.example\uff0fb', 'utf8')],
  ])('%s makes no name', (_what, value) => {
    expect(namesOfSubject(attribute(ids.commonName, value))).toMatchObject({ dnsNames: [], droppedNames: 1 });
  });

  it('limits the number of Unicode names, as each takes long', () => {
    const { dnsNames, droppedNames } = namesOfSan(...Array.from({ length: 1200 }, (_, i) => `ü${i}.example`));
    expect([dnsNames.length, droppedNames]).toEqual([1000, 200]);
  });

  it('converts Unicode names like Node', () => {
    const label = fc.string({
      unit: fc.constantFrom(...'aZ9-éßÅøжĐ漢字日本ıﬁ'),
      minLength: 1,
      maxLength: 20,
    });
    fc.assert(
      fc.property(fc.array(label, { minLength: 1, maxLength: 4 }), (labels) => {
        const name = labels.join('.');
        const theirs = domainToASCII(name);
        const { dnsNames } = namesOfSan(Buffer.from(name));
        for (const ours of dnsNames) {
          expect(ours).toMatch(/^[a-z0-9.-]{1,253}$/);
          expect([name, ours]).toEqual([name, /[^\0-\x7f]/.test(name) ? theirs : name.toLowerCase()]);
        }
      }),
      { numRuns: 1000, seed: 6962 },
    );
  });
});

it('returns only printable lower-case ASCII names for any text, or drops them', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), fc.nat(0xff), (bytes, tag) => {
      const value = Buffer.from(bytes);
      const subject = seq(attribute(ids.commonName, tlv(tag, value)));
      const der = forgeCertificate({ subject, extensions: [alternativeNames(dns(value))] });
      for (const name of readIssued(der, 'certificate').dnsNames)
        expect(name).toMatch(/^[\x20-\x2d\x2f-\x40\x5b-\x7e](?:[\x20-\x40\x5b-\x7e]{0,80}[a-z0-9_*-])?$/);
    }),
    { numRuns: 2000, seed: 6962 },
  );
});
