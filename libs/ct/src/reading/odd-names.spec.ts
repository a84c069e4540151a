import fc from 'fast-check';
import { indexKeys, matchesQuery, type NameQuery, queryKeys, readIssued } from '../index';
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

const ofSan = (value: string | Uint8Array) =>
  readIssued(forgeCertificate({ extensions: [alternativeNames(dns(value))] }), 'certificate').dnsNames;
const ofCommonName = (value: string) =>
  readIssued(forgeCertificate({ subject: seq(commonName(value)), extensions: null }), 'certificate').dnsNames;

const below = (domain: string): NameQuery => ({ domain, includeSubdomains: true, matchWildcards: false });
const exactly = (domain: string): NameQuery => ({ domain, includeSubdomains: false, matchWildcards: true });

/** As a search does: by the keys first, then by the names of the row. */
function isFound(dnsNames: readonly string[], query: NameQuery): boolean {
  const keys = indexKeys(dnsNames);
  return queryKeys(query).some((key) => keys.includes(key)) && matchesQuery(dnsNames, query);
}

const label64 = 'l'.repeat(64);
const deep = 'd.'.repeat(130);
const long = `${'m'.repeat(60)}.`.repeat(5);

/** The text in the certificate, and its form in dns_names. */
const oddNames: [string, string, string][] = [
  ['a space', 'foo bar.example.com', 'foo bar.example.com'],
  ['a space after a dot', 'foo. bar.example.com', 'foo. bar.example.com'],
  ['a comma', 'a,b.example.com', 'a,b.example.com'],
  ['two names with a comma', 'a.example.net,b.example.com', 'a.example.net,b.example.com'],
  ['two names with a comma and a space', 'a.example.net, b.example.com', 'a.example.net, b.example.com'],
  ['two names with a semicolon', 'a.example.net;b.example.com', 'a.example.net;b.example.com'],
  ['a colon', 'a:b.example.com', 'a:b.example.com'],
  ['a port in the middle', 'a:8443.example.com', 'a:8443.example.com'],
  ['a prefix', 'DNS:www.example.com', 'dns:www.example.com'],
  ['a backslash', 'a\\b.example.com', 'a\\b.example.com'],
  ['an escaped NUL', 'a\\x00.example.com', 'a\\x00.example.com'],
  ['parentheses', 'www(old).example.com', 'www(old).example.com'],
  ['brackets', '[www].example.com', '[www].example.com'],
  ['markup', '<b>.example.com', '<b>.example.com'],
  ['a redacted label', '?.example.com', '?.example.com'],
  ['a wildcard and a redacted label', '*.?.example.com', '*.?.example.com'],
  ['several redacted labels', '?.?.?.example.com', '?.?.?.example.com'],
  ['a question mark', 'what?.example.com', 'what?.example.com'],
  ['a number sign', '#1.example.com', '#1.example.com'],
  ['a percent sign', 'a%2eb.example.com', 'a%2eb.example.com'],
  ['quotation marks', '"www".example.com', '"www".example.com'],
  ['an apostrophe', "o'brien.example.com", "o'brien.example.com"],
  ['an exclamation mark', '!.example.com', '!.example.com'],
  ['a dollar sign and braces', '${HOST}.example.com', '${host}.example.com'],
  ['a tilde and an ampersand', 'a&b~.example.com', 'a&b~.example.com'],
  ['a plus and an equals sign', 'cn=a+b.example.com', 'cn=a+b.example.com'],
  ['an empty label', 'a..example.com', 'a..example.com'],
  ['several empty labels', 'a....example.com', 'a....example.com'],
  ['a mailbox', 'user@mail.example.com', 'user@mail.example.com'],
  ['another scheme', 'ftp://www.example.com', 'ftp://www.example.com'],
  ['a slash', 'a/b.example.com', 'a/b.example.com'],
  ['a label of 64', `${label64}.example.com`, `${label64}.example.com`],
  ['a wildcard above a label of 64', `*.${label64}.example.com`, `*.${label64}.example.com`],
  ['more than 253 bytes', `${long}example.com`, `${long}example.com`],
  ['more than 127 labels', `${deep}example.com`, `${deep}example.com`],
  ['a tab', 'a\tb.example.com', '<unparsable>.example.com'],
  ['a line feed', 'a\nb.example.com', '<unparsable>.example.com'],
  ['a bell', 'a\x07b.example.com', '<unparsable>.example.com'],
  ['an escape sequence', 'a\x1b[31mb.example.com', '<unparsable>.example.com'],
  ['DEL', 'a.\x7f.example.com', 'a.<unparsable>.example.com'],
  ['a C1 control', 'a\x9bb.example.com', '<unparsable>.example.com'],
  ['what is no IDN', 'a\ufffd.example.com', '<unparsable>.example.com'],
  ['an IDN beside an odd label', 'a b.b\u00fccher.example.com', 'a b.xn--bcher-kva.example.com'],
];

describe('a name with', () => {
  it.each(oddNames)('%s is found below the domain it is under, and only there', (_what, given, shown) => {
    for (const names of [ofSan(Buffer.from(given)), ofCommonName(given)]) {
      expect(names).toContain(shown);
      expect(isFound(names, below('example.com'))).toBe(true);
      for (const domain of ['xample.com', 'example.org', 'www.example.com', 'b.example.net'])
        expect([domain, isFound(names, below(domain))]).toEqual([domain, false]);
      for (const domain of ['example.com', 'www.example.com', 'x.example.com', 'unparsable.example.com'])
        expect([domain, isFound(names, exactly(domain))]).toEqual([domain, false]);
    }
  });

  it.each<[string, string | Uint8Array, string]>([
    ['control characters at its end', 'www.example.com\x07\x1b', 'www.example.com'],
    ['control characters before it', '\x01\x02www.example.com', 'www.example.com'],
    ['NEL at its end, in Latin-1', 'www.example.com\x85', 'www.example.com'],
    ['a control character where nothing above it can be searched', 'www.exa\x07mple.com', 'www.example.com'],
    ['two bytes for each character', '\0w\0w\0w\0.\0e\0x\0a\0m\0p\0l\0e\0.\0c\0o\0m', 'www.example.com'],
    ['a query and no scheme', 'www.example.com?id=1', 'www.example.com'],
    ['a fragment and no scheme', 'www.example.com#top', 'www.example.com'],
    ['a long path', `https://www.example.com/${'a'.repeat(5_000)}`, 'www.example.com'],
    ['5,000 bytes after a NUL', `www.example.com\0${'a'.repeat(5_000)}`, 'www.example.com'],
  ])('%s is read without them', (_what, given, name) => {
    expect(ofSan(given)).toEqual([name]);
  });

  it('an asterisk without a dot is found under the rest of its label', () => {
    for (const name of ['*example.com', 'www.*example.com', '*.*example.com', 'a b.*example.com']) {
      expect(isFound(ofSan(name), below('example.com'))).toBe(true);
      expect(isFound(ofSan(name), exactly('example.com'))).toBe(false);
    }
    expect(isFound(ofSan('w*example.com'), below('example.com'))).toBe(false);
    expect(isFound(ofSan('*notexample.com'), below('example.com'))).toBe(false);
  });

  it('an odd label that only a public suffix or nothing is above is no name of any domain', () => {
    for (const given of [
      'foo bar.com',
      'someone@example.com',
      'Some One',
      'a, b',
      'foo bar.1.2',
      'a b.c d.com',
    ])
      expect([given, ofSan(given), ofCommonName(given)]).toEqual([given, [], []]);
  });

  it('a name in a URL is read, and what looks like one behind it, too', () => {
    expect(ofSan('https://www.example.com/to/www.example.net')).toEqual([
      'www.example.com',
      'www.example.com/to/www.example.net',
    ]);
    expect(ofSan('https://a.b?.example.com/path')).toEqual(['a.b', 'a.b?.example.com']);
    expect(ofSan('https://www.example.com/index.html')).toEqual(['www.example.com']);
  });

  it.each([1_020, 1_030, 5_000, 200_000])('%s bytes is shown with at most 1,036 characters', (length) => {
    for (const unit of ['a', 'a.', 'a b.']) {
      const given = `${unit.repeat(length / unit.length)}.example.com`.replace('..', '.');
      const [name = ''] = ofSan(given);
      expect(name.length).toBeLessThan(1_037);
      expect(name).toMatch(/\.example\.com$/);
      expect(isFound([name], below('example.com'))).toBe(true);
      if (given.length > 1_024) expect(name).toMatch(/^<unparsable>\./);
    }
  });

  it('UTF-16 or UTF-32 and 100,000 bytes is found, too', () => {
    const given = `${'a b.'.repeat(25_000)}b\u00fccher.example.com`;
    const units = Buffer.from(given, 'utf16le').swap16();
    const points = Buffer.concat(Array.from(given, (c) => Buffer.from([0, 0, 0, c.charCodeAt(0)])));
    for (const value of [tlv(0x1e, units), tlv(0x1c, points), text(0x0c, given, 'utf8'), text(0x16, given)]) {
      const der = forgeCertificate({ subject: seq(attribute(ids.commonName, value)), extensions: null });
      const { dnsNames } = readIssued(der, 'certificate');
      expect(isFound(dnsNames, below('xn--bcher-kva.example.com'))).toBe(true);
    }
  });
});

/** Labels from the right, as monitors compare them: those of the domain are there, whatever is left of them. */
function carefulMonitorReports(value: string, domain: string): boolean {
  const dotted = value.trim().toLowerCase().split('.');
  while (dotted.at(-1) === '') dotted.pop();
  const wanted = domain.split('.');
  return (
    dotted.length >= wanted.length && wanted.every((each, nth) => dotted.at(nth - wanted.length) === each)
  );
}

it('whatever is left of a domain, the certificate is found below it; and below no other one', () => {
  const label = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom('a', 'b', 'example', 'com', '*', '?', '', 'www') },
    fc.string({
      unit: fc.constantFrom(...' ,:\\()?@#%"\'<>;!$&+=~^`{}|[]-_*aZ9\t\x01\x07\x1b\x7f'),
      maxLength: 8,
    }),
    fc.string({ unit: fc.constant('x'), minLength: 60, maxLength: 70 }),
  );
  const name = fc.array(label, { minLength: 1, maxLength: 14 }).map((labels) => labels.join('.'));
  const tail = fc.constantFrom(
    'example.com',
    'a.example.com',
    'b.a.b.a.b.a.b.a.b.a.example.com',
    'www.com',
    '',
  );
  const queried = fc.constantFrom(
    'example.com',
    'a.example.com',
    'a.b.a.b.a.b.a.example.com',
    'www.com',
    'b.com',
  );
  let reports = 0;
  fc.assert(
    fc.property(name, tail, queried, (odd, end, domain) => {
      const given = end === '' ? odd : `${odd}.${end}`;
      const reported = carefulMonitorReports(given, domain);
      const names = ofSan(given);
      if (reported) {
        reports++;
        expect([given, names, isFound(names, below(domain))]).toEqual([given, names, true]);
      }
      // Nothing is found that does not have the domain in it.
      if (isFound(names, below(domain)))
        expect(given.toLowerCase().replace(/[\0-\x1f\x7f]/g, '')).toContain(domain);
      for (const each of names) expect(each).toMatch(/^[\x20-\x40\x5b-\x7e]{1,1036}$/);
    }),
    { numRuns: 5_000, seed: 6962 },
  );
  expect(reports).toBeGreaterThan(1_000);
});
