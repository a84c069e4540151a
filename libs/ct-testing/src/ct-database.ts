import { createHash, randomBytes } from 'node:crypto';
import { testDatabase } from '@certwright/testing';
import type { DataSource } from 'typeorm';
import { ctDataSource } from '@certwright/ct-schema';
import type { NewIssuance, NewIssuer } from '@certwright/ct-index';
import { ensurePartitions } from '@certwright/ct-index';

/** A database with the `ct` schema and its partitions, for one spec. */
export class CtDatabaseFixture {
  private constructor(
    readonly database: DataSource,
    readonly url: string,
    readonly close: () => Promise<void>,
  ) {}

  /** @param positionsPerPartition small, so that a spec crosses many borders */
  static async open(positionsPerPartition = 100, room = 2_000): Promise<CtDatabaseFixture> {
    const { url, dispose } = await testDatabase();
    const database = ctDataSource({
      url,
      applicationName: 'spec',
      poolSize: 14,
      statementTimeoutMs: 30_000,
    });
    await database.initialize();
    await database.runMigrations({ transaction: 'each' });
    await ensurePartitions(database, new Date(), room, positionsPerPartition);
    const close = async () => {
      await database.destroy();
      await dispose();
    };
    return new CtDatabaseFixture(database, url, close);
  }
}

export const keyOf = (text: string): Buffer => createHash('sha256').update(text).digest().subarray(0, 8);

const issuer: NewIssuer = {
  spkiSha256: Buffer.alloc(32, 1),
  nameDer: Buffer.from('3000', 'hex'),
  certificateDer: null,
  spkiDer: null,
};

/** As an issuance has them. */
export const keysOf = (...texts: readonly string[]): string[] =>
  texts.map((text) => keyOf(text).toString('hex'));

/** An issuance for one name that is found under `keyOf(name)`. */
export function anIssuance(name: string, change: Partial<NewIssuance> = {}): NewIssuance {
  return {
    tbsSha256: randomBytes(32).toString('hex'),
    certSha256: randomBytes(32).toString('hex'),
    precertificate: true,
    spkiSha256: randomBytes(32).toString('hex'),
    issuer,
    crlUrl: null,
    serial: randomBytes(16),
    notBefore: new Date(Date.now() - 3_600_000),
    notAfter: new Date(Date.now() + 90 * 86_400_000),
    dnsNames: [name],
    nameKeys: keysOf(name),
    body: Buffer.from(`\u0000${name}`),
    ...change,
  };
}
