import { createPrivateKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { mkdir, open, readFile, rename, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

/** The private keys of the built-in CA: one file each, PKCS#8 PEM, readable only by the owner. */
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

  /** @throws Error that says what to do when the file is missing or others may read it */
  async load(name: string): Promise<KeyObject> {
    const file = this.pathOf(`${name}.key`);
    let pem: string;
    try {
      pem = await readFile(file, 'utf8');
    } catch (error) {
      throw new Error(
        `The private key of the built-in CA is not at ${file}, though its certificate is in the database. ` +
          `Restore the file, or set BUILT_IN_CA_DIR to where it is.`,
        { cause: error },
      );
    }
    const { mode } = await stat(file);
    if ((mode & 0o077) !== 0) {
      throw new Error(
        `Others may read ${file} (mode ${(mode & 0o777).toString(8)}): run "chmod 600 ${file}".`,
      );
    }
    return createPrivateKey(pem);
  }

  /** A certificate beside the keys, for people and scripts. */
  async publish(name: string, pem: string): Promise<void> {
    await this.write(name, pem, 0o644);
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
