import { existsSync } from 'node:fs';
import { MonitoredDomainIndex } from '@certwright/monitored-domains';
import { readIssued } from '../index';
import { alertsOf } from '../testing/certspotter';
import {
  alternativeNames,
  attribute,
  commonName,
  dns,
  endless,
  extension,
  forgeCertificate,
  hex,
  ids,
  octetString,
  seq,
  set,
  text,
  tlv,
} from '../testing/forge';

const index = new MonitoredDomainIndex();
for (const domain of ['example.com', '.example.com', 'www.example.com', 'xn--bcher-kva.example.org'])
  index.set('1', domain, true);

type How = 'name' | 'odd name' | 'unreadable' | 'not found';

/** As ct-ingest stores a certificate, and as monitors match it. */
function howFound(der: Buffer): How {
  const { dnsNames, oddNames, layout } = readIssued(der, 'certificate');
  if (layout === null) return index.matchUnreadable(der).accounts.length > 0 ? 'unreadable' : 'not found';
  if (index.match(dnsNames).accounts.length > 0) return 'name';
  return index.match([...dnsNames, ...oddNames]).accounts.length > 0 ? 'odd name' : 'not found';
}

const withNames = (...names: readonly Uint8Array[]) =>
  forgeCertificate({ extensions: [alternativeNames(...names)] });
const san = (name: string | Uint8Array) => withNames(dns(name));
const cn = (value: Uint8Array) =>
  forgeCertificate({ extensions: null, subject: seq(attribute(ids.commonName, value)) });
const utf8 = (name: string) => Buffer.from(name, 'utf8');
const utf16 = (name: string) => Buffer.from(name, 'utf16le').swap16();
const utf32 = (name: string) =>
  Buffer.concat(Array.from(name, (each) => Buffer.from([0, 0, 0, each.charCodeAt(0)])));
const name = 'www.example.com';
const label64 = 'l'.repeat(64);
const rawSan = (value: Uint8Array) =>
  forgeCertificate({ extensions: [extension(ids.subjectAlternativeName, value)] });

const shapes: [what: string, how: How, der: Buffer][] = [
  ['a name', 'name', san(name)],
  ['upper case', 'name', san('WWW.Example.COM')],
  ['a wildcard', 'name', san('*.example.com')],
  ['an asterisk within a label', 'name', san('w*.example.com')],
  ['an asterisk without a dot', 'name', san('*example.com')],
  ['two asterisks', 'name', san('*.*.com')],
  ['an asterisk in the middle', 'name', san('www.*.com')],
  ['a dot at the end', 'name', san('www.example.com.')],
  ['dots at both ends', 'name', san('..www.example.com..')],
  ['an empty label before it', 'name', san('a..www.example.com')],
  ['an empty label in it', 'odd name', san('www.example.com..x')],
  ['spaces around it', 'name', san(' www.example.com ')],
  ['a space before it', 'name', san('foo www.example.com')],
  ['a space after it', 'odd name', san('www.example.com foo')],
  ['a comma after it', 'odd name', san('www.example.com,example.org')],
  ['a comma before it', 'name', san('example.org,www.example.com')],
  ['a semicolon', 'odd name', san('www.example.com;example.org')],
  ['a list in quotation marks', 'odd name', san('"www.example.com" "example.org"')],
  ['a URL', 'name', san('https://www.example.com/path?query#fragment')],
  ['a URL of another scheme', 'odd name', san('ftp://www.example.com/path')],
  ['a URL with a user', 'name', san('https://user@www.example.com:8443/path')],
  ['a prefix', 'name', san('DNS:www.example.com')],
  ['a port', 'name', san('www.example.com:443')],
  ['a port and more', 'name', san('www.example.com:443/x y')],
  ['a port of six digits', 'odd name', san('www.example.com:123456')],
  ['an address in front', 'odd name', san('192.0.2.1,www.example.com 192.0.2.1')],
  ['an address after it', 'name', san('www.example.com/192.0.2.1')],
  ['a mailbox', 'odd name', san('admin@www.example.com>')],
  ['a NUL in the middle', 'name', san('www.example.com\0.example.org')],
  ['a NUL after each character', 'name', san(utf16(name))],
  ['two bytes per character, and more', 'odd name', san(utf16('www.example.com, x'))],
  ['a control character in front', 'name', san('\u0001www.example.com')],
  ['a control character after it', 'odd name', san('www.example.com\u0001.x')],
  ['a line feed between names', 'odd name', san('www.example.com\nexample.org')],
  ['a control character before another domain', 'name', san('www.example.com\u0001.example.org')],
  ['a long name', 'name', san(`${'a.'.repeat(130)}example.com`)],
  ['a name that is far too long', 'name', san(`${'a.'.repeat(5_000)}example.com`)],
  ['a name before a long text', 'odd name', san(`www.example.com ${'x'.repeat(5_000)}`)],
  ['a name within a long text', 'odd name', san(`${'x '.repeat(3_000)}www.example.com${' x'.repeat(3_000)}`)],
  ['a label that is too long', 'name', san(`${label64}.example.com`)],
  ['a label that is too long at the end', 'odd name', san(`www.example.com.${label64}`)],
  ['a U-label', 'name', san(utf8('bücher.example.org'))],
  ['a U-label and a comma', 'odd name', san(utf8('x.example,bücher.example.org,x'))],
  ['a U-label below it', 'name', san(utf8('bücher.example.com'))],
  ['an invalid U-label below it', 'name', san(utf8('\u202ewww.example.com'))],
  ['full-width letters', 'name', san(utf8('ｗｗｗ.example.com'))],
  ['bytes that are not UTF-8', 'name', san(Buffer.from('\xff\xfe.www.example.com', 'latin1'))],
  ['percent encoding', 'odd name', san('www%2eexample%2Ecom')],
  ['a percent-encoded space after it', 'odd name', san('www.example.com%20')],
  ['an underscore', 'name', san('_dmarc.www.example.com')],
  ['a hyphen at the ends of a label', 'name', san('-www-.example.com')],
  ['a common name', 'name', cn(text(0x0c, name))],
  ['a BMPString', 'name', cn(tlv(0x1e, utf16(name)))],
  ['a BMPString with a comma', 'odd name', cn(tlv(0x1e, utf16('www.example.com, Inc.')))],
  ['a UniversalString', 'name', cn(tlv(0x1c, utf32(name)))],
  ['a T61String', 'name', cn(tlv(0x14, Buffer.from(name)))],
  ['one byte per character in a BMPString', 'odd name', cn(tlv(0x1e, Buffer.from('www.example.com')))],
  ['a common name that is an OCTET STRING', 'name', cn(tlv(0x04, Buffer.from(name)))],
  ['a common name in a SEQUENCE', 'name', cn(seq(text(0x0c, name)))],
  ['a title with a name', 'odd name', cn(text(0x0c, 'Shop (www.example.com)'))],
  ['a second common name', 'name', forgeCertificate({ subject: seq(commonName('x'), commonName(name)) })],
  ['a mailbox without @', 'odd name', withNames(text(0x81, name))],
  ['a URI without a scheme', 'odd name', withNames(text(0x86, name))],
  ['an address that is a text', 'odd name', withNames(text(0x87, name))],
  ['a universal string type', 'odd name', withNames(text(0x16, name))],
  ['a name in pieces', 'odd name', withNames(tlv(0xa2, text(0x16, 'x'), text(0x16, name)))],
  [
    'an indefinite length',
    'name',
    forgeCertificate({ extensions: [extension(ids.subjectAlternativeName, endless(0x30, dns(name)))] }),
  ],
  ['alternative names as a SET', 'name', rawSan(set(dns(name)))],
  ['alternative names as a text', 'odd name', rawSan(text(0x16, name))],
  ['alternative names without a SEQUENCE', 'odd name', rawSan(dns(name))],
  ['a second SEQUENCE', 'odd name', rawSan(Buffer.concat([seq(dns('x.example')), seq(dns(name))]))],
  ['names that end after the extension', 'name', rawSan(Buffer.concat([hex('307f'), dns(name)]))],
  [
    'a name after one that is cut off',
    'name',
    rawSan(seq(Buffer.concat([hex('827f'), Buffer.from('x'), dns(name)]))),
  ],
  [
    'an extension without an OCTET STRING',
    'odd name',
    forgeCertificate({ extensions: [seq(tlv(6, ids.subjectAlternativeName), dns(name))] }),
  ],
  [
    'extensions with a wrong tag',
    'odd name',
    forgeCertificate({ wrapper: tlv(0xa4, seq(alternativeNames(dns(name)))) }),
  ],
  [
    'extensions after others',
    'name',
    forgeCertificate({ tail: tlv(0xa3, seq(alternativeNames(dns(name)))) }),
  ],
  [
    'a missing subject',
    'odd name',
    forgeCertificate({ subject: null, spki: null, extensions: null, tail: text(0x0c, name) }),
  ],
  ['no certificate', 'unreadable', octetString(seq(dns(name)))],
  ['a certificate that ends early', 'unreadable', Buffer.concat([hex('308210000482'), dns(name)])],
];

it.each(shapes)('%s is found as %s', (_what, how, der) => {
  expect(howFound(der)).toBe(how);
});

it.each([
  [
    'names, addresses and people',
    [dns(name), dns('*.example.org'), dns('192.0.2.1'), tlv(0x87, hex('7f000001'))],
  ],
  [
    'other kinds of names',
    [
      text(0x81, 'a@a.example'),
      text(0x86, 'https://u.example/'),
      tlv(0xa0, tlv(6, hex('2a03')), tlv(0xa0, text(0x0c, 'a.example'))),
    ],
  ],
  ['texts without a domain', [dns('localhost'), dns('Jane Doe'), dns('v1.2'), dns('')]],
  [
    'names with a port, a URL',
    [dns('www.example.com:443'), dns('http://www.example.com/'), dns('WWW.EXAMPLE.COM.')],
  ],
])('nothing is kept of %s', (_what, names) => {
  const subject = seq(commonName('Jane Doe'), commonName(name));
  expect(
    readIssued(forgeCertificate({ subject, extensions: [alternativeNames(...names)] }), 'certificate')
      .oddNames,
  ).toEqual([]);
});

it('of many odd texts the runs of labels are kept, once, and of long runs the end', () => {
  const texts = Array.from({ length: 30_000 }, (_, nth) =>
    dns(`${nth % 1_000}.example.org ,${'x'.repeat(nth % 7)} \0`),
  );
  const long = dns(`x ${'l.'.repeat(2_000)}example.net y`);
  const { oddNames } = readIssued(withNames(...texts, long, dns('last.example.com/')), 'certificate');
  expect(oddNames.length).toBeLessThan(1_200);
  for (let nth = 0; nth < 1_000; nth += 1)
    expect(
      oddNames.some((each) => each === `${nth}.example.org` || each.startsWith(`${nth}.example.org `)),
    ).toBe(true);
  expect(oddNames.every((each) => each.length <= 1_024 && !each.includes('\0'))).toBe(true);
  expect(oddNames.some((each) => each.endsWith('.l.example.net') && each.length === 256)).toBe(true);
});

const certspotter = ['/usr/bin/certspotter', '/usr/local/bin/certspotter'].find((file) => existsSync(file));

(certspotter === undefined ? it.skip : it)(
  'everything that certspotter finds in a log is found (skipped where it is not installed)',
  async () => {
    const all = [...shapes.map(([, , der]) => der), san('example.net')];
    const watchlist = ['.example.com', 'xn--bcher-kva.example.org'];
    const alerts = await alertsOf(certspotter ?? '', all, watchlist);
    const missed = alerts.filter((nth) => howFound(all[nth] ?? Buffer.alloc(0)) === 'not found');
    expect(missed.map((nth) => shapes[nth]?.[0] ?? 'another domain')).toEqual([]);
    expect(alerts.length).toBeGreaterThan(40);
  },
  60_000,
);
