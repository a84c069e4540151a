import { createHash, randomBytes } from 'node:crypto';
import {
  coverageIn,
  ensurePartitions,
  type NewIssuance,
  type NewIssuer,
  pageOfAll,
  readingAlone,
  revocationFacts,
  type RevocationFacts,
  type StoredIssuance,
} from '@certwright/ct-index';
import { ctDataSource, ctSchema, distribute } from '@certwright/ct-schema';
import { applyGrants } from '@certwright/postgres';
import { citusDatabase, citusUrl, type TestDatabase, testDatabase } from '@certwright/testing';
import type { DataSource } from 'typeorm';

const connection = { applicationName: 'spec', statementTimeoutMs: 30_000 };

/**
 * A database with both schemas, and the grants and partitions of `ct`.
 *
 * @param positionsPerPartition small, so that a spec crosses many borders
 * @param room positions that have a partition
 */
export async function ctTestDatabase(positionsPerPartition = 100_000, room = 100_000): Promise<TestDatabase> {
  const prepare = async (url: string, prefix: string) => {
    const database = await ctDataSource({ url, poolSize: 1, ...connection }).initialize();
    await database.runMigrations({ transaction: 'each' });
    await database.transaction(async (tx) => await applyGrants(tx, ctSchema, { prefix, passwords: {} }));
    if (citusUrl() !== undefined) await distribute(database);
    await ensurePartitions(database, new Date(), room, positionsPerPartition);
    await database.destroy();
  };
  if (citusUrl() !== undefined) return await citusDatabase(prepare);
  return await testDatabase({ name: `ct_${positionsPerPartition}_${room}`, prepare });
}

/** A database with the `ct` schema and its partitions, for one spec. */
export class CtDatabaseFixture {
  private constructor(
    readonly database: DataSource,
    readonly url: string,
    /** With the grants that the process has in production. */
    readonly urlOf: (process: string) => string,
    readonly close: () => Promise<void>,
  ) {}

  /** @param positionsPerPartition small, so that a spec crosses many borders */
  static async open(positionsPerPartition = 100, room = 2_000): Promise<CtDatabaseFixture> {
    const { url, urlOf, dispose } = await ctTestDatabase(positionsPerPartition, room);
    const database = await ctDataSource({ url, poolSize: 14, ...connection }).initialize();
    const close = async () => {
      await database.destroy();
      await dispose();
    };
    return new CtDatabaseFixture(database, url, urlOf, close);
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
    oddNames: [],
    nameKeys: keysOf(name),
    body: Buffer.from(`\u0000${name}`),
    ...change,
  };
}

export interface CheckedIssuance extends Pick<StoredIssuance, 'issuer' | 'crl'> {
  readonly serial: Buffer;
  readonly notAfter: Date;
  readonly discoveredAt: Date;
}

/** Facts about certificates that are stored for it, in their order. */
export async function factsAbout(
  database: DataSource,
  checked: readonly CheckedIssuance[],
): Promise<readonly RevocationFacts[]> {
  const [{ last }] = await database.query<[{ last: string }]>(
    `SELECT coalesce(max(position), 0) AS last FROM ct_issuance`,
  );
  await database.query(
    `INSERT INTO ct_issuance (position, tbs_sha256, cert_sha256, precertificate, spki_sha256, issuer, crl, serial,
       not_before, not_after, discovered_at, dns_names, body)
     SELECT $1 + nth, digest, digest, false, digest, issuer, crl, serial, now(), not_after, discovered_at, '{}', ''
     FROM unnest($2::int[], $3::int[], $4::bytea[], $5::timestamptz[], $6::timestamptz[]) WITH ORDINALITY
       AS given (issuer, crl, serial, not_after, discovered_at, nth), sha256('') AS digest`,
    [
      last,
      checked.map(({ issuer }) => issuer),
      checked.map(({ crl }) => crl),
      checked.map(({ serial }) => serial),
      checked.map(({ notAfter }) => notAfter),
      checked.map(({ discoveredAt }) => discoveredAt),
    ],
  );
  await database.query(`UPDATE ct_sequence SET next = greatest(next, $1::bigint + 1)`, [
    Number(last) + checked.length,
  ]);
  const stored = await pageOfAll(readingAlone(database.manager), { after: last, limit: checked.length });
  return await revocationFacts(stored.issuances, coverageIn(database.manager));
}
