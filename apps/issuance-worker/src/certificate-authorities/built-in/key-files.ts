import { createPrivateKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { mkdir, open, readFile, rename, stat } from 'node:fs/promises';
import path from 'node:path';
import { StartFault } from '@certwright/errors';
import { promisify } from 'node:util';

/** Permission bits that a key file must not have: any for others, and write or execute for the group. */
const refusedMode = 0o037;

/** Of a folder that is mounted read-only, such as a Secret. */
const readOnlyCodes: readonly unknown[] = ['EROFS', 'EACCES', 'EPERM'];

/**
 * The private keys of the built-in CA: one file each, PKCS#8 PEM. Created readable only by the owner. Kubernetes mounts a
 * Secret with mode 0440 and a group that only this process has (`fsGroup`), so the group may read a file.
 */
export class KeyFiles {
  constructor(private readonly folder: string) {}

  /** Creates an RSA key and stores it before it is used; returns an existing key unchanged. */
  async create(name: string, modulusBits: number): Promise<KeyObject> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    if (await this.exists(name)) return await this.load(name);
    const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: modulusBits });
    await this.write(`${name}.key`, privateKey.export({ type: 'pkcs8', format: 'pem' }), 0o600);
    return privateKey;
  }

  private async exists(name: string): Promise<boolean> {
    return await stat(this.pathOf(`${name}.key`)).then(
      () => true,
      () => false,
    );
  }

  /** @throws Error that says what to do when the file is missing or has a mode that is refused */
  async load(name: string): Promise<KeyObject> {
    const file = this.pathOf(`${name}.key`);
    let pem: string;
    try {
      pem = await readFile(file, 'utf8');
    } catch (error) {
      throw new StartFault(
        `the private key of the built-in CA is not at ${file}, though its certificate is in the database. ` +
          `Restore the file, or set BUILT_IN_CA_DIR to where it is.`,
        { cause: error },
      );
    }
    const { mode } = await stat(file);
    if ((mode & refusedMode) !== 0) {
      throw new StartFault(
        `BUILT_IN_CA_DIR: other users may read or change ${file} (mode ${(mode & 0o777).toString(8)}): run "chmod 600 ${file}", or give a mounted Secret defaultMode 0440.`,
      );
    }
    return createPrivateKey(pem);
  }

  /** A certificate beside the keys, for people and scripts. Not in a folder that is read-only: the database has it too. */
  async publish(name: string, pem: string): Promise<void> {
    try {
      await this.write(name, pem, 0o644);
    } catch (error) {
      if (!readOnlyCodes.includes((error as NodeJS.ErrnoException).code)) throw error;
    }
  }

  /** Writes atomically, even if the machine stops midway. */
  private async write(name: string, content: string | Buffer, mode: number): Promise<void> {
    const temporary = this.pathOf(`.${name}.${process.pid}`);
    const file = await open(temporary, 'w', mode);
    try {
      await file.chmod(mode);
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, this.pathOf(name));
  }

  private pathOf(name: string): string {
    return path.join(this.folder, name);
  }
}
