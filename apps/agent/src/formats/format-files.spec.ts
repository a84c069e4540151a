import { execFileSync, spawnSync } from 'node:child_process';
import { createPrivateKey } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Forge, type Forged } from '@certwright/testing';
import { formatFiles } from './format-files';
import { pkcs12Alias } from './pkcs12';

const folder = mkdtempSync(path.join(tmpdir(), 'certwright-formats-'));
const forge = new Forge();
afterAll(() => {
  forge.dispose();
  rmSync(folder, { recursive: true });
});

const root = forge.make({ isCa: true, name: 'Spec root' });
const intermediate = forge.make({ isCa: true, by: root, name: 'Spec intermediate' });
const leaf = forge.make({ by: intermediate, dnsNames: ['www.example.com'] });
const otherLeaf = forge.make({ by: intermediate, dnsNames: ['www.example.com'], key: leaf });
const rsaLeaf = forge.make({ by: intermediate, dnsNames: ['www.example.com'], key: 'rsa1024' });

const pkcs8Of = ({ keyFile }: Forged) =>
  createPrivateKey(readFileSync(keyFile)).export({ type: 'pkcs8', format: 'der' });
const material = (of: Forged, password?: string) => ({
  leaf: of.der,
  chain: [intermediate.der, root.der],
  root: root.der,
  pkcs8: pkcs8Of(of),
  ...(password === undefined ? {} : { password }),
});
const pem = ({ file }: Forged) => readFileSync(file, 'utf8');
const keyPem = (of: Forged) =>
  createPrivateKey(readFileSync(of.keyFile)).export({ type: 'pkcs8', format: 'pem' });
const certificatesIn = (text: string) =>
  text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n/g);

it('writes the certificate, its chain without the root, and the key, as OpenSSL does', () => {
  const files = formatFiles(material(leaf));
  const text = (name: 'fullchain.pem' | 'cert.pem' | 'chain.pem' | 'privkey.pem' | 'combined.pem') =>
    Buffer.from(files.get(name) ?? []).toString();
  expect(text('cert.pem')).toBe(pem(leaf));
  expect(text('chain.pem')).toBe(pem(intermediate));
  expect(text('fullchain.pem')).toBe(pem(leaf) + pem(intermediate));
  expect(text('privkey.pem')).toBe(keyPem(leaf));
  expect(text('combined.pem')).toBe(`${keyPem(leaf)}${pem(leaf)}${pem(intermediate)}`);
  expect(files.has('bundle.p12')).toBe(false);
});

const bundleOf = (of: Forged, password: string) => {
  const bytes = formatFiles(material(of, password)).get('bundle.p12') ?? Buffer.alloc(0);
  const file = path.join(folder, 'bundle.p12');
  writeFileSync(file, bytes);
  return { file, bytes };
};

/** One that needs quoting nearly everywhere. */
const password = `p "a'ss\\$~`;

describe.each([
  ['ECDSA', leaf],
  ['RSA', rsaLeaf],
])('PKCS#12 of an %s key', (_type, of) => {
  const openssl = (...args: readonly string[]) =>
    execFileSync('openssl', ['pkcs12', '-passin', 'env:P12', ...args], {
      encoding: 'utf8',
      env: { ...process.env, P12: password },
      stdio: 'pipe',
    });

  it('OpenSSL returns key, certificate and chain, and connects key and certificate', () => {
    const { file } = bundleOf(of, password);
    expect(openssl('-in', file, '-nocerts', '-nodes')).toContain(keyPem(of));
    expect(certificatesIn(openssl('-in', file, '-nokeys', '-clcerts'))).toEqual([pem(of)]);
    expect(certificatesIn(openssl('-in', file, '-nokeys', '-cacerts'))).toEqual([pem(intermediate)]);
  });

  it('uses no algorithm that OpenSSL 3 calls legacy', () => {
    const { file } = bundleOf(of, password);
    const { stderr } = spawnSync(
      'openssl',
      ['pkcs12', '-in', file, '-info', '-noout', '-passin', 'env:P12'],
      {
        encoding: 'utf8',
        env: { ...process.env, P12: password },
      },
    );
    expect(stderr).toMatch(/^MAC: sha256, Iteration 10000$/m);
    expect(stderr.match(/PBES2, PBKDF2, AES-256-CBC, Iteration 10000, PRF hmacWithSHA256/g)).toHaveLength(2);
  });

  it('OpenSSL refuses it with another password', () => {
    const { file } = bundleOf(of, 'another password');
    expect(() => openssl('-in', file, '-nodes')).toThrow(/mac verify failure|invalid password/i);
  });
});

const hasKeytool = spawnSync('keytool', ['-help']).status === 0;

/** Shown as skipped where the program is missing; tools/test/peers.sh installs it. */
(hasKeytool ? it : it.skip)('keytool reads key and chain under a constant alias', () => {
  const keytool = (...args: readonly string[]) =>
    execFileSync('keytool', [...args, '-storepass', password, '-J-Duser.language=en'], {
      encoding: 'utf8',
      stdio: 'pipe',
    });
  const { file } = bundleOf(rsaLeaf, password);
  const listed = keytool('-list', '-v', '-keystore', file, '-storetype', 'PKCS12');
  expect(listed).toMatch(`Alias name: ${pkcs12Alias}`);
  expect(listed).toMatch('Entry type: PrivateKeyEntry');
  expect(listed).toMatch('Certificate chain length: 2');
  // Uses the private key.
  expect(keytool('-certreq', '-alias', pkcs12Alias, '-keystore', file)).toMatch(
    'BEGIN NEW CERTIFICATE REQUEST',
  );
});

it('the same input results in the same bytes, and no salt is used for two contents', () => {
  const { bytes } = bundleOf(leaf, password);
  expect(Buffer.compare(bundleOf(leaf, password).bytes, bytes)).toBe(0);
  const saltsOf = (bundle: Uint8Array) =>
    Buffer.from(bundle)
      .toString('hex')
      .match(/0410[0-9a-f]{32}/g) ?? [];
  const variants = [bytes, bundleOf(otherLeaf, password).bytes, bundleOf(leaf, `${password}!`).bytes];
  const salts = variants.flatMap(saltsOf);
  // Two encryptions with a salt and an initialization vector each, and the MAC.
  expect(salts.length).toBeGreaterThanOrEqual(3 * 5);
  expect(new Set(salts).size).toBe(salts.length);
});

it.each(['', 'pässword', 'line\n', 'x'.repeat(1001)])('refuses the password %j', (refused) => {
  expect(() => formatFiles(material(leaf, refused))).toThrow(RangeError);
});
