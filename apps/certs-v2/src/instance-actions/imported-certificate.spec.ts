import { generateKeyPairSync } from 'node:crypto';
import { rootCertificates } from 'node:tls';
import { type Certificate, decodePem, readCertificate } from '@certwright/pki';
import { argumentsIn, readArguments } from '../wire/arguments';
import { Refusal } from '../wire/reasons';
import { ImportRequest } from './import-request';
import { validateImport, trustedRoots } from './imported-certificate';
import { type CertificateOptions, forgedRoot, inDays } from '../instances/testing/forged-authority';

const root = forgedRoot('Root');
const intermediate = root.subordinate('Intermediate');
const dnsNames = ['www.example.com', 'example.com'];
const leaf = intermediate.issue({ dnsNames });
const cn = 'www.example.com';

const parsed = (der: Buffer): Certificate => {
  const reading = readCertificate(der);
  if (!reading.ok) throw new Error(reading.detail);
  return reading.certificate;
};
const noRoots = () => [];
const validated = (
  crt: string,
  chain: readonly string[],
  roots: (subject: Uint8Array) => readonly Certificate[] = noRoots,
) => validateImport(readArguments(ImportRequest, { crt, chain: [...chain] }), cn, roots, new Date());

function refusalOf(work: () => unknown): { reason: string; param: string | undefined; message: string } {
  try {
    work();
  } catch (error) {
    if (error instanceof Refusal) return { reason: error.reason, param: error.field, message: error.message };
    throw error;
  }
  throw new Error('it was taken');
}

describe('a certificate that is imported', () => {
  it('is taken with its chain; a root at the end is known by itself', () => {
    const chain = [intermediate.pem, root.pem];
    expect(validated(leaf.pem, chain)).toMatchObject({
      keyType: 'ecdsa',
      dnsNames,
      leaf: { sha256: parsed(leaf.der).sha256 },
      chain: [{ sha256: parsed(intermediate.der).sha256 }],
      root: { sha256: parsed(root.der).sha256 },
    });
  });

  it('is accepted without a root, and its well-known root is found', () => {
    expect(validated(leaf.pem, [intermediate.pem])).toMatchObject({ chain: [{}], root: null });
    const impostor = forgedRoot('Root');
    const wellKnown = [parsed(impostor.der), parsed(root.der)];
    const found = validated(leaf.pem, [intermediate.pem], (subject) =>
      wellKnown.filter((each) => Buffer.compare(each.subject.der, subject) === 0),
    );
    expect(found.root?.sha256).toBe(parsed(root.der).sha256);
  });

  it('is taken alone, and where it certifies itself', () => {
    expect(validated(leaf.pem, [])).toMatchObject({ chain: [], root: null });
    const own = forgedRoot(cn, { isCa: false, dnsNames: [cn], usage: 'server' });
    expect(validated(own.pem, [])).toMatchObject({ chain: [], root: { sha256: parsed(own.der).sha256 } });
  });

  it('keeps the names that a certificate may have, in normal form', () => {
    const odd = intermediate.issue({
      dnsNames: ['WWW.Example.com', 'localhost', 'a b.example.com', 'example.com', '10.0.0.1'],
    });
    expect(validated(odd.pem, [intermediate.pem]).dnsNames).toEqual(dnsNames);
  });

  it.each<[string, CertificateOptions, RegExp]>([
    ['has expired', { notBefore: inDays(-9), notAfter: inDays(-1) }, /expired/],
    ['is not valid yet', { notBefore: inDays(1) }, /not valid before/],
    ['is for another name', { dnsNames: ['example.com', 'mail.example.com'] }, /www\.example\.com/],
    ['covers the name by a wildcard alone', { dnsNames: ['*.example.com'] }, /www\.example\.com/],
    ['has no names', { dnsNames: [] }, /www\.example\.com/],
    ['is a CA’s', { isCa: true, usage: 'server' }, /CA certificate/],
    ['is for clients', { usage: 'client' }, /serverAuth/],
    ['is a precertificate', { isPrecertificate: true }, /precertificate/],
    ['has a key of another kind', { keys: generateKeyPairSync('ed25519') }, /neither RSA nor ECDSA/],
  ])('is refused when it %s', (_, options, message) => {
    const { pem } = intermediate.issue({ dnsNames, ...options });
    expect(refusalOf(() => validated(pem, [intermediate.pem]))).toEqual({
      reason: 'bad_certificate',
      param: 'crt',
      message: expect.stringMatching(message) as string,
    });
  });

  const stranger = forgedRoot('Root').subordinate('Intermediate');
  const old = root.subordinate('Old', { notBefore: inDays(-9), notAfter: inDays(-1) });
  const noCa = root.issue({ dnsNames: ['no-ca.example.com'] });
  it.each<[string, string, readonly string[], RegExp]>([
    ['does not belong to it', leaf.pem, [root.pem], /names another issuer/],
    ['has the right names and another key', leaf.pem, [stranger.pem], /not made with that key/],
    ['is in the wrong order', leaf.pem, [root.pem, intermediate.pem], /another issuer/],
    ['begins with the certificate itself', leaf.pem, [leaf.pem, intermediate.pem], /another issuer/],
    [
      'has a certificate that has expired',
      old.issue({ dnsNames }).pem,
      [old.pem, root.pem],
      /chain certificate 1 has expired/,
    ],
    ['ends in one that has expired', old.issue({ dnsNames }).pem, [old.pem], /expired/],
    [
      'has one that is no CA',
      root.subordinate('no-ca.example.com', { keys: noCa.keys }).issue({ dnsNames }).pem,
      [noCa.pem],
      /not a CA certificate/,
    ],
    [
      'has one too many',
      leaf.pem,
      [intermediate.pem, root.pem, intermediate.pem],
      /chain certificate 2|root/,
    ],
  ])('is refused when its chain %s', (_, crt, chain, message) => {
    expect(refusalOf(() => validated(crt, chain))).toEqual({
      reason: 'bad_certificate',
      param: 'chain',
      message: expect.stringMatching(message) as string,
    });
  });
});

describe('what is sent to be imported', () => {
  const read = (body: unknown, isForm = false) => readArguments(ImportRequest, argumentsIn(body, isForm));
  const chainOf = (chain: unknown, isForm = false) =>
    read({ crt: leaf.pem, chain }, isForm).chain.map(({ sha256 }) => sha256);
  const both = [intermediate, root].map(({ der }) => parsed(der).sha256);

  it('is one text after the other, a list, or the JSON of a list', () => {
    const list = [intermediate.pem, root.pem];
    expect(chainOf(list.join(''))).toEqual(both);
    expect(chainOf(list.join('\r\n\r\n').replaceAll('\n', '\r\n'), true)).toEqual(both);
    expect(chainOf(list)).toEqual(both);
    expect(chainOf(JSON.stringify(list))).toEqual(both);
    expect(chainOf(JSON.stringify(list), true)).toEqual(both);
    for (const none of [undefined, null, '', '  \n', [], '[]']) expect(chainOf(none)).toEqual([]);
  });

  const key = leaf.keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  it.each<[string, string, unknown]>([
    ['crt', 'a key', key],
    ['crt', 'a certificate and its key', leaf.pem + key],
    ['chain', 'a key', key],
    ['chain', 'a list with a key', [intermediate.pem, key]],
  ])('%s: %s is refused, and not repeated', (param, _, value) => {
    const refusal = refusalOf(() => read({ crt: leaf.pem, [param]: value }));
    expect(refusal).toMatchObject({ reason: 'bad_certificate', param });
    const [secret = ''] = key.split('\n').slice(1);
    expect(refusal.message).not.toContain(secret.slice(0, 16));
    expect(refusal.message).toContain('private key');
  });

  it.each(['crt', 'chain'])('%s: a comment about a private key is reported as a comment', (param) => {
    const commented = `# issuer of private-key.example.com\n${leaf.pem}`;
    const refusal = refusalOf(() => read({ crt: leaf.pem, [param]: commented }));
    expect(refusal).toMatchObject({ reason: 'bad_certificate', param });
    expect(refusal.message).toContain('The PEM text has a line outside of every block.');
  });

  const request = leaf.pem.replaceAll('CERTIFICATE', 'CERTIFICATE REQUEST');
  const broken = leaf.pem.replace(/\n.{10}/, '\nAAAAAAAAAA');
  it.each<[string, string, unknown, string]>([
    ['crt', 'nothing', undefined, 'missing_param'],
    ['crt', 'null', null, 'missing_param'],
    ['crt', 'an empty text', '', 'bad_certificate'],
    ['crt', 'something else', 'certificate', 'bad_certificate'],
    ['crt', 'two certificates', leaf.pem + intermediate.pem, 'bad_certificate'],
    ['crt', 'a request', request, 'bad_certificate'],
    ['crt', 'broken DER', broken, 'bad_certificate'],
    ['crt', 'a text around it', `hello\n${leaf.pem}`, 'bad_certificate'],
    [
      'crt',
      'a megabyte',
      `-----BEGIN CERTIFICATE-----\n${'A'.repeat(1_000_000)}\n-----END CERTIFICATE-----\n`,
      'bad_certificate',
    ],
    ['crt', 'a list', [leaf.pem], 'bad_param'],
    ['crt', 'an object', { pem: leaf.pem }, 'bad_param'],
    ['chain', 'an object', { pem: leaf.pem }, 'bad_param'],
    ['chain', 'a list of numbers', [1, 2], 'bad_param'],
    ['chain', 'a list of lists', [[leaf.pem]], 'bad_param'],
    ['chain', 'broken JSON', '["', 'bad_param'],
    ['chain', 'a number', 7, 'bad_certificate'],
    ['chain', 'nine certificates', Array(9).fill(intermediate.pem), 'bad_certificate'],
    ['chain', 'a megabyte', 'A'.repeat(1_000_000), 'bad_certificate'],
  ])('%s: %s is refused', (param, _, value, reason) => {
    expect(refusalOf(() => read({ crt: leaf.pem, [param]: value }))).toMatchObject({ reason, param });
  });
});

describe('the size of an imported certificate', () => {
  const names = (count: number) => [cn, ...Array.from({ length: count }, (_, at) => `n${at}.example.com`)];
  const large = intermediate.issue({ dnsNames: names(1_000) }).pem;

  it('is limited, and leaves room for a thousand names', () => {
    expect(validated(large, [intermediate.pem]).dnsNames).toHaveLength(1_001);
    const tooLarge = intermediate.issue({ dnsNames: names(2_500) }).pem;
    expect(refusalOf(() => validated(tooLarge, []))).toMatchObject({
      reason: 'bad_certificate',
      param: 'crt',
      message: expect.stringMatching(/^crt has \d+ bytes; at most 32768 are possible\.$/) as string,
    });
  });

  it('is limited for the certificates of its chain together', () => {
    expect(refusalOf(() => validated(leaf.pem, [intermediate.pem, large]))).toMatchObject({
      reason: 'bad_certificate',
      param: 'chain',
      message: expect.stringMatching(/^chain has \d+ bytes; at most 16384 are possible\.$/) as string,
    });
  });
});

describe('well-known roots', () => {
  it('are found by their name, and no others', () => {
    const known = rootCertificates.flatMap((pem) => {
      const decoded = decodePem(pem, 1);
      return decoded.ok ? decoded.blocks.map(({ der }) => readCertificate(der)) : [];
    });
    const [first] = known.flatMap((reading) => (reading.ok ? [reading.certificate] : []));
    if (first === undefined) throw new Error('Node comes without roots');
    expect(trustedRoots(first.subject.der).map(({ sha256 }) => sha256)).toContain(first.sha256);
    expect(trustedRoots(parsed(intermediate.der).issuer.der)).toEqual([]);
    expect(trustedRoots(Buffer.of())).toEqual([]);
  });
});
