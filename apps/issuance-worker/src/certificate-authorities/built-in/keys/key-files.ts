import { createPrivateKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import {
  assertKeyOf,
  type CaKey,
  type CaKeys,
  CaKeyUnavailable,
  intermediateBits,
  type IntermediateName,
  keyInMemory,
  type KeyOwner,
} from './ca-key';

/** Permission bits that a key file must not have: any for others, and write or execute for the group. */
const refusedMode = 0o037;

/**
 * Files in a folder, one for each intermediate: `intermediate.key`, `intermediate-2.key`, PKCS#8 PEM. Created readable only
 * by the owner. Kubernetes mounts a Secret with mode 0440 and a group that only this process has (`fsGroup`), so the
 * group may read a file.
 */
export class KeyFiles implements CaKeys {
  constructor(private readonly folder: string) {}

  async open(owner: KeyOwner): Promise<CaKey> {
    const file = this.fileOf(owner.name);
    const key = keyInMemory(await load(file));
    assertKeyOf(owner, key, `BUILT_IN_CA_DIR: ${file}`);
    return key;
  }

  async create(name: IntermediateName): Promise<CaKey> {
    const file = this.fileOf(name);
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    if (await exists(file)) return keyInMemory(await load(file));
    const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: intermediateBits });
    await writeDurably(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), 0o600);
    return keyInMemory(privateKey);
  }

  async close(): Promise<void> {
    // Nothing is open between two calls.
  }

  private fileOf(name: IntermediateName): string {
    return path.join(this.folder, `${name}.key`);
  }
}

async function load(file: string): Promise<KeyObject> {
  let pem: string;
  try {
    pem = await readFile(file, 'utf8');
  } catch (error) {
    throw new CaKeyUnavailable(
      `BUILT_IN_CA_DIR: ${file} cannot be read (${codeOf(error)}). Restore the file, or set BUILT_IN_CA_DIR to its folder.`,
    );
  }
  const { mode } = await stat(file);
  if ((mode & refusedMode) !== 0) {
    throw new CaKeyUnavailable(
      `BUILT_IN_CA_DIR: other users may read or change ${file} (mode ${(mode & 0o777).toString(8)}). Run "chmod 600 ${file}", or give a mounted Secret defaultMode 0440.`,
    );
  }
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'rsa') return key;
  } catch {
    // The reason may quote the file.
  }
  throw new CaKeyUnavailable(
    `BUILT_IN_CA_DIR: ${file} is not an RSA private key in PEM without a passphrase. Restore the file.`,
  );
}

export async function exists(file: string): Promise<boolean> {
  return await stat(file).then(
    () => true,
    () => false,
  );
}

/** Writes a new file, or replaces one, atomically, even if the machine stops midway. */
export async function writeDurably(target: string, content: string | Buffer, mode: number): Promise<void> {
  const temporary = path.join(path.dirname(target), `.${path.basename(target)}.${process.pid}`);
  try {
    const file = await open(temporary, 'w', mode);
    try {
      await file.chmod(mode);
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  const folder = await open(path.dirname(target));
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function codeOf(error: unknown): unknown {
  return (error as NodeJS.ErrnoException).code;
}
