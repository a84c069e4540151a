import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { decodePem, encodePem } from '@certwright/pki';
import {
  exists,
  writeDurably,
} from '../../../apps/issuance-worker/src/certificate-authorities/built-in/keys/key-files';
import type { Root } from '../../../apps/issuance-worker/src/certificate-authorities/built-in/ceremony';

/** Characters of a passphrase for a root key that is kept for decades. */
const minPassphrase = 16;

/** @param label of the PEM block, such as CERTIFICATE. @returns DER of a file with one block in PEM, or in DER */
export async function readDer(file: string, label: string): Promise<Buffer> {
  const content = await read(file);
  const text = content.toString('latin1').trim();
  const isDer = !text.startsWith('-----BEGIN');
  const pem = decodePem(text, 1);
  const block = pem.ok ? pem.blocks[0] : undefined;
  const der = isDer ? content : block?.label === label ? Buffer.from(block.der) : null;
  if (der === null || (label === 'CERTIFICATE' && !isCertificate(der)))
    throw new Error(`${file}: expected one "${label}" in PEM, or DER.`);
  return der;
}

function isCertificate(der: Buffer): boolean {
  try {
    return new X509Certificate(der).raw.equals(der);
  } catch {
    return false;
  }
}

export async function writePem(file: string, label: string, der: Uint8Array): Promise<void> {
  await writeDurably(file, encodePem(label, der), 0o644);
}

/** Writes a root key, encrypted with the passphrase (PKCS #8), which openssl reads too. Never replaces a file. */
export async function writeRootKey(file: string, key: KeyObject, passphrase: string): Promise<void> {
  await assertNew(file);
  const pem = key.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase });
  await writeDurably(file, pem, 0o600);
}

export async function assertNew(file: string): Promise<void> {
  if (await exists(file))
    throw new Error(`${file} exists already. Choose another file: roots are not replaced.`);
}

/** A result must not replace the certificate or the only copy of the key of its root. */
export function assertNoneOfRoot(out: string, { root, rootKey, passphraseFile }: RootFiles): void {
  assertOther('--out', out, { root: root, 'root-key': rootKey, 'passphrase-file': passphraseFile });
}

/** @param others file by option */
export function assertOther(
  option: string,
  file: string,
  others: Readonly<Record<string, string | undefined>>,
): void {
  for (const [other, otherFile] of Object.entries(others))
    if (otherFile !== undefined && path.resolve(otherFile) === path.resolve(file))
      throw new Error(`${option} and --${other} name the same file. Choose two files.`);
}

/** @returns the passphrase for a new key */
export async function readNewPassphrase(file: string): Promise<string> {
  const passphrase = await readPassphrase(file);
  if (passphrase.length >= minPassphrase) return passphrase;
  throw new Error(`${file}: the passphrase needs at least ${minPassphrase} characters.`);
}

export interface RootFiles {
  readonly root: string;
  readonly rootKey: string;
  readonly passphraseFile?: string;
}

export async function readRoot({ root, rootKey, passphraseFile }: RootFiles): Promise<Root> {
  const pem = await read(rootKey);
  const { mode } = await stat(rootKey);
  if ((mode & 0o077) !== 0) throw new Error(`Other users may read ${rootKey}: run "chmod 600 ${rootKey}".`);
  const certificate = await readDer(root, 'CERTIFICATE');
  const passphrase = passphraseFile === undefined ? undefined : await readPassphrase(passphraseFile);
  try {
    return {
      certificate,
      key: createPrivateKey({ key: pem, ...(passphrase === undefined ? {} : { passphrase }) }),
    };
  } catch {
    // The reason may quote the file.
    throw new Error(
      `${rootKey} is not a private key in PEM, or --passphrase-file does not have its passphrase.`,
    );
  }
}

async function readPassphrase(file: string): Promise<string> {
  return (await read(file)).toString('utf8').replace(/\r?\n$/, '');
}

async function read(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw new Error(`${file} cannot be read (${String((error as NodeJS.ErrnoException).code)}).`);
  }
}
