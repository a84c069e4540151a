import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Crl, readCrl } from '@certwright/ct';
import { crlMemory } from './crl-memory';
import { crlSignature } from './crl-signature';

jest.setTimeout(60_000);

const folder = mkdtempSync(path.join(tmpdir(), 'crl-signature-'));
afterAll(() => rmSync(folder, { recursive: true }));
const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe', cwd: folder });

/** An openssl CA, and its list. */
function listOf(
  key: readonly string[],
  sign: readonly string[],
): { readonly crl: Crl; readonly spkiDer: Buffer } {
  writeFileSync(
    path.join(folder, 'index.txt'),
    'R\t351231235959Z\t250102030405Z,keyCompromise\t0A\tunknown\t/CN=x\n',
  );
  writeFileSync(
    path.join(folder, 'ca.cnf'),
    `[ca]\ndefault_ca = it\n[it]\ndatabase = index.txt\ncertificate = ca.pem\nprivate_key = key.pem\ndefault_crl_days = 7\ndefault_md = sha256\n`,
  );
  openssl('req', '-x509', ...key, '-nodes', '-keyout', 'key.pem', '-out', 'ca.pem', '-subj', '/CN=CA');
  openssl('ca', '-config', 'ca.cnf', '-gencrl', '-out', 'crl.pem', ...sign);
  const reading = readCrl(openssl('crl', '-in', 'crl.pem', '-outform', 'DER'));
  if (!reading.ok) throw new Error(reading.fault);
  const ca = new X509Certificate(openssl('x509', '-in', 'ca.pem'));
  return { crl: reading.crl, spkiDer: ca.publicKey.export({ type: 'spki', format: 'der' }) };
}

const rsa = ['-newkey', 'rsa:2048'];
const pss = ['-sigopt', 'rsa_padding_mode:pss'];

it.each([
  ['RSA', rsa, []],
  ['RSA with PSS', rsa, [...pss, '-sigopt', 'rsa_pss_saltlen:32']],
  ['RSA with PSS and SHA-384', rsa, [...pss, '-md', 'sha384']],
  ['ECDSA', ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384'], ['-md', 'sha384']],
  ['Ed25519', ['-newkey', 'ed25519'], ['-md', 'null']],
])('a signature of openssl with %s is valid, and no other one is', async (_, key, sign) => {
  const { crl, spkiDer } = listOf(key, sign);
  expect(await crlSignature(crl, spkiDer)).toBe('valid');
  const tbsDer = Buffer.from(crl.tbsDer);
  tbsDer[tbsDer.length - 1] = (tbsDer.at(-1) ?? 0) ^ 1;
  expect(await crlSignature({ ...crl, tbsDer }, spkiDer)).toBe('forged');
  expect(await crlSignature({ ...crl, signature: Buffer.alloc(0) }, spkiDer)).toBe('forged');
  expect(await crlSignature(crl, spkiDer.subarray(0, 20))).toBe('key');
});

it('rejects SHA-1 and keys of another type', async () => {
  const { crl, spkiDer } = listOf(rsa, ['-md', 'sha1']);
  expect(await crlSignature(crl, spkiDer)).toBe('algorithm');
  const ec = listOf(['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'], []);
  expect(await crlSignature(ec.crl, spkiDer)).toBe('key');
});

it.each([
  [384, 64, 384, 12],
  [512, 64, 384, 64],
  [512, 8, 496, 8],
  [2_048, 64, 1_920, 64],
])(
  'of %i MiB with lists up to %i MiB, logs have %i, and the longest list %i',
  (limit, longest, following, list) => {
    const memory = crlMemory(limit, longest);
    expect(memory.followingMib).toBe(following);
    expect(memory.maxList).toBe(list * 1_048_576);
    expect(memory.lists).toBeGreaterThanOrEqual(2 * memory.maxList);
  },
);
