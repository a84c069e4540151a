import { keysOf, SharedReads } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** Lists of known weak keys have hundreds of thousands of entries. */
const rowsPerStatement = 10_000;

/** How the reason begins when a key is blocked because a certificate was revoked for it. */
export const revokedKeyReason = 'keyCompromise said of certificate ';

interface KeyOfAccount {
  readonly spkiSha256: Uint8Array;
  readonly accountId: string;
}

@Injectable()
export class BlockedKeys {
  private readonly reads = new SharedReads<KeyOfAccount, boolean>((keys) => this.haveAll(keys));

  constructor(private readonly database: DataSource) {}

  /**
   * Whether the key is blocked for this account: for all accounts, or by the account itself.
   *
   * @param spkiSha256 SHA-256 over the DER SubjectPublicKeyInfo
   */
  async has(spkiSha256: Uint8Array, accountId: string): Promise<boolean> {
    return await this.reads.read({ spkiSha256, accountId });
  }

  private async haveAll(keys: readonly KeyOfAccount[]): Promise<boolean[]> {
    const rows: { readonly blocked: boolean }[] = await this.database.query(
      `SELECT EXISTS (
         SELECT 1 FROM blocked_key
         WHERE blocked_key.spki_sha256 = wanted.spki_sha256 AND blocked_key.account_id IN (0, wanted.account_id)) AS blocked
       FROM ${keysOf('bytea', 'bigint')} AS wanted (spki_sha256, account_id, nth) ORDER BY nth`,
      [keys.map(({ spkiSha256 }) => spkiSha256), keys.map(({ accountId }) => accountId)],
    );
    return rows.map(({ blocked }) => blocked);
  }

  /** Whether an operator has added keys. Keys blocked by a revocation do not count. */
  async isListLoaded(): Promise<boolean> {
    const rows: unknown[] = await this.database.query(
      `SELECT 1 FROM blocked_key WHERE account_id = 0 AND NOT starts_with(reason, $1) LIMIT 1`,
      [revokedKeyReason],
    );
    return rows.length > 0;
  }

  /**
   * Adds all keys for every account or, on an error, none. A key that is blocked already keeps its reason.
   *
   * @returns how many were new
   */
  async add(spkiSha256s: readonly Uint8Array[], reason: string): Promise<number> {
    return await this.database.transaction(async (tx) => {
      let added = 0;
      for (let start = 0; start < spkiSha256s.length; start += rowsPerStatement) {
        const rows: unknown[] = await tx.query(
          `INSERT INTO blocked_key (spki_sha256, reason) SELECT DISTINCT hash, $2 FROM unnest($1::bytea[]) AS hash
           ON CONFLICT DO NOTHING RETURNING 1 AS added`,
          [spkiSha256s.slice(start, start + rowsPerStatement), reason],
        );
        added += rows.length;
      }
      return added;
    });
  }
}
