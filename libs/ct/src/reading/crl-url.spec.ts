import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Certificate, type CRLDistributionPoints } from 'pkijs';
import { readDataTile, readIssued } from '../index';
import { endless, extension, forgeCertificate, hex, seq, text, tlv } from '../testing/forge';

const id = hex('551d1f');
const uri = (value: string) => text(0x86, value);
const fullName = (...names: readonly Uint8Array[]) => tlv(0xa0, tlv(0xa0, ...names));
const point = (...parts: readonly Uint8Array[]) => seq(...parts);
const someReasons = tlv(0x81, hex('0520'));
const otherSigner = tlv(0xa2, uri('x'));

function crlUrl(...extensions: readonly Uint8Array[]): string | null {
  return readIssued(forgeCertificate({ extensions }), 'certificate').crlUrl;
}
const ofPoints = (...points: readonly Uint8Array[]) => crlUrl(extension(id, seq(...points)));

it('is the first one with http or https of all distribution points', () => {
  const here = 'http://crl.example/1.crl';
  expect(ofPoints(point(fullName(uri(here))))).toBe(here);
  expect(ofPoints(point(fullName(uri('ldap://d/cn=x'), uri(here))), point(fullName(uri('http://b'))))).toBe(
    here,
  );
  expect(ofPoints(point(fullName(uri('ldap://d/cn=x'))), point(fullName(uri('HTTPS://B/'))))).toBe(
    'HTTPS://B/',
  );
  expect(ofPoints(point(fullName(uri(` ${here}\n`))))).toBe(here);
});

it('is null for a point with only some reasons, or with lists of another signer', () => {
  const name = fullName(uri('http://a/'));
  expect(ofPoints(point(name, someReasons))).toBeNull();
  expect(ofPoints(point(name, otherSigner))).toBeNull();
  expect(ofPoints(point(name, otherSigner), point(fullName(uri('http://b/'))))).toBe('http://b/');
});

it.each([
  ['nothing', crlUrl()],
  ['an empty list', ofPoints()],
  ['a relative name', ofPoints(point(tlv(0xa0, tlv(0xa1, seq()))))],
  ['a URL too long', ofPoints(point(fullName(uri(`http://a/${'x'.repeat(1_016)}`))))],
  [
    'an extension too long',
    ofPoints(...Array.from({ length: 200 }, () => point(fullName(uri('ldap://abc'))))),
  ],
  ['a URL with a space', ofPoints(point(fullName(uri('http://a b/'))))],
  ['a URL with NUL', ofPoints(point(fullName(uri('http://a/\u0000'))))],
  ['a URL with a user', ofPoints(point(fullName(uri('http://u:p@a/'))))],
  ['a URL with a password', ofPoints(point(fullName(uri('http://:p@a/'))))],
  ['no host', ofPoints(point(fullName(uri('http://'))))],
  ['a port that is none', ofPoints(point(fullName(uri('http://a:99999/'))))],
  ['bytes', crlUrl(extension(id, hex('30ff')))],
  ['deep nesting', crlUrl(extension(id, Buffer.alloc(1_000, 0xa0)))],
  ['endless nesting', crlUrl(extension(id, Buffer.alloc(1_000, Buffer.from('a080', 'hex'))))],
])('%s is none', (_, url) => expect(url).toBeNull());

it('is read from BER, too, and from the first of two extensions', () => {
  const name = (value: string) => extension(id, endless(0x30, point(fullName(uri(value)))));
  expect(crlUrl(name('http://a/'), name('http://b/'))).toBe('http://a/');
});

it('agrees with pkijs about real certificates', () => {
  const tile = readFileSync(join(__dirname, '../testing/data/navigli2025h2-000.tile'));
  const reading = readDataTile(tile, { index: 0, width: 256 });
  if (!reading.ok) throw new Error(reading.fault);
  let found = 0;
  for (const entry of reading.entries) {
    const der = entry.type === 'precertificate' ? entry.precertificateDer : entry.certificateDer;
    const points = Certificate.fromBER(der).extensions?.find(({ extnID }) => extnID === '2.5.29.31');
    const [first] = (points?.parsedValue as CRLDistributionPoints | undefined)?.distributionPoints ?? [];
    const [name] = Array.isArray(first?.distributionPoint) ? first.distributionPoint : [];
    const expected: unknown = name?.value ?? null;
    if (expected !== null) found += 1;
    expect(readIssued(der, 'precertificate').crlUrl).toBe(expected);
  }
  expect(found).toBeGreaterThan(100);
});
