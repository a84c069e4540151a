import { readNamePattern } from '../configuration/values';
import { TestCa, testKey } from '../testing/test-ca';
import { checkReceived } from './received-certificate';

const now = new Date('2026-11-24T12:00:00Z');
const ca = new TestCa(now);
const other = new TestCa(now);
const key = testKey();
const accepted = ['example.com', '*.example.com'].map(readNamePattern);
const issued = ca.issue(key.spki, ['www.example.com', '*.example.com']);
const expected = { sha256: issued.sha256, spkiSha256: key.spkiSha256, accepted, now };

it('accepts a certificate of a held key, with accepted names and a chain to its root', () => {
  expect(checkReceived(issued.message, expected)).toMatchObject({
    sha256: issued.sha256,
    dnsNames: ['www.example.com', '*.example.com'],
  });
});

it('accepts a chain that ends with the root', () => {
  const { chain, root } = issued.message;
  expect(checkReceived({ ...issued.message, chain: [...chain, root] }, expected).sha256).toBe(issued.sha256);
});

const of = (names: readonly string[], options = {}, spki = key.spki) => {
  const made = ca.issue(spki, names, options);
  return [made.message, { ...expected, sha256: made.sha256 }] as const;
};
const dayMs = 86_400_000;

it.each([
  [
    'another certificate',
    () => [ca.issue(key.spki, ['www.example.com']).message, expected] as const,
    'the server sent another certificate',
  ],
  [
    'a certificate of another key',
    () => of(['www.example.com'], {}, testKey().spki),
    'for another key than the one that this host holds',
  ],
  [
    'a name outside of names',
    () => of(['www.example.com', 'www.example.net']),
    'the certificate is for "www.example.net", which is not in names',
  ],
  ['a name that only looks alike', () => of(['notexample.com']), 'which is not in names'],
  ['no DNS name', () => of([]), 'has no DNS names'],
  [
    'an IP address',
    () => of(['www.example.com'], { addresses: [[127, 0, 0, 1]] }),
    'names that are not DNS names',
  ],
  [
    'an expired one',
    () => of(['www.example.com'], { notBefore: new Date(now.getTime() - 91 * dayMs) }),
    'the certificate expired at',
  ],
  [
    'one that is not valid yet',
    () => of(['www.example.com'], { notBefore: new Date(now.getTime() + dayMs) }),
    'is not valid before',
  ],
  [
    'a chain of another CA',
    () =>
      [
        { ...issued.message, ...other.issue(key.spki, ['a.example.com']).message, leaf: issued.message.leaf },
        expected,
      ] as const,
    'certificate 1 of the chain did not sign certificate 0',
  ],
  [
    'another root',
    () =>
      [{ ...issued.message, root: other.issue(key.spki, ['a.example.com']).message.root }, expected] as const,
    'certificate 2 of the chain did not sign certificate 1',
  ],
  [
    'no chain',
    () => [{ ...issued.message, chain: [] }, expected] as const,
    'certificate 1 of the chain did not sign certificate 0',
  ],
  [
    'a root that is none',
    () => [{ ...issued.message, root: issued.message.chain[0] ?? '' }, expected] as const,
    'does not end at a root',
  ],
  [
    'a chain that contains a leaf',
    () =>
      [
        {
          ...issued.message,
          chain: [issued.message.leaf, ...issued.message.chain, issued.message.leaf],
        },
        expected,
      ] as const,
    'of the chain',
  ],
  [
    '21 certificates',
    () =>
      [
        { ...issued.message, chain: Array.from({ length: 21 }, () => issued.message.chain[0] ?? '') },
        expected,
      ] as const,
    'the chain has more than 20 certificates',
  ],
  [
    'bytes in the chain that are no certificate',
    () => [{ ...issued.message, chain: ['AAAA'] }, expected] as const,
    'not a certificate',
  ],
])('refuses %s', (_what, make, text) => {
  const [message, expectation] = make();
  expect(() => checkReceived(message, expectation)).toThrow(text);
});

it('uses the corrected clock', () => {
  expect(() =>
    checkReceived(issued.message, { ...expected, now: new Date(now.getTime() + 100 * dayMs) }),
  ).toThrow('expired');
});
