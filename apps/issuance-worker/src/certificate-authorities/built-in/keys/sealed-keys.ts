import { createPrivateKey, generateKeyPair, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { SealBroken, type SealingKeys } from '@certwright/sealing';
import type { DataSource } from 'typeorm';
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

const nonceBytes = 12;

/** Rows of `ca_key`, sealed with CA_ACCOUNT_KEYS: every copy of the worker has them, without a shared folder. */
export class SealedKeys implements CaKeys {
  constructor(
    private readonly database: DataSource,
    private readonly sealing: SealingKeys,
  ) {}

  async open(owner: KeyOwner): Promise<CaKey> {
    const key = await this.read(owner.name);
    if (key === null) {
      throw new CaKeyUnavailable(
        `BUILT_IN_CA_KEYS: the database has no sealed key of "${owner.name}". Restore the table ca_key, or set BUILT_IN_CA_KEYS to where the key is.`,
      );
    }
    assertKeyOf(owner, key, `BUILT_IN_CA_KEYS: the sealed key "${owner.name}"`);
    return key;
  }

  async create(name: IntermediateName): Promise<CaKey> {
    const { privateKey } = await promisify(generateKeyPair)('rsa', {
      modulusLength: intermediateBits,
      publicKeyEncoding: { type: 'spki', format: 'der' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
    await this.database.query(
      `INSERT INTO ca_key (name, sealed) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`,
      [name, this.seal(name, privateKey)],
    );
    const stored = await this.read(name);
    if (stored === null) throw new Error(`the sealed key of ${name} was deleted while it was created`);
    return stored;
  }

  /** Seals every key with the first of CA_ACCOUNT_KEYS. @returns the names of the keys */
  async sealAgain(): Promise<readonly string[]> {
    return await this.database.transaction(async (tx) => {
      const rows: { name: IntermediateName; sealed: Buffer }[] = await tx.query(
        `SELECT name, sealed FROM ca_key ORDER BY name FOR UPDATE`,
      );
      for (const { name, sealed } of rows) {
        const fresh = this.seal(name, this.unseal(name, sealed));
        await tx.query(`UPDATE ca_key SET sealed = $2 WHERE name = $1`, [name, fresh]);
      }
      return rows.map(({ name }) => name);
    });
  }

  async close(): Promise<void> {
    // The connection belongs to the process.
  }

  private async read(name: IntermediateName): Promise<CaKey | null> {
    const [row] = await this.database.query<[{ sealed: Buffer }?]>(
      `SELECT sealed FROM ca_key WHERE name = $1`,
      [name],
    );
    return row === undefined ? null : keyInMemory(createPrivateKey(this.unseal(name, row.sealed)));
  }

  private seal(name: IntermediateName, pem: string): Buffer {
    return this.sealing.seal(pem, contextOf(name), randomBytes(nonceBytes));
  }

  private unseal(name: IntermediateName, sealed: Buffer): string {
    try {
      return this.sealing.open(sealed, contextOf(name));
    } catch (error) {
      if (!(error instanceof SealBroken)) throw error;
      throw new CaKeyUnavailable(
        `CA_ACCOUNT_KEYS: no key of it opens the sealed key "${name}". Add the key with which it was sealed.`,
      );
    }
  }
}

const contextOf = (name: IntermediateName): string => `private key of the built-in CA: ${name}`;
