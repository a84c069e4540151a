import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

@Injectable()
export class BlockedKeys {
  constructor(private readonly database: DataSource) {}

  /**
   * Whether the key is blocked for this account: for everybody, or by what the account itself said of it.
   *
   * @param spkiSha256 SHA-256 over the DER SubjectPublicKeyInfo
   */
  async has(spkiSha256: Uint8Array, accountId: string): Promise<boolean> {
    const rows: unknown[] = await this.database.query(
      `SELECT 1 FROM blocked_key WHERE spki_sha256 = $1 AND account_id IN (0, $2)`,
      [spkiSha256, accountId],
    );
    return rows.length > 0;
  }

  /** Adds what is new, for everybody; what stands keeps its reason. @returns how many were new */
  async add(spkiSha256s: readonly Uint8Array[], reason: string): Promise<number> {
    const rows: unknown[] = await this.database.query(
      `INSERT INTO blocked_key (spki_sha256, reason) SELECT DISTINCT hash, $2 FROM unnest($1::bytea[]) AS hash
       ON CONFLICT DO NOTHING RETURNING 1 AS added`,
      [spkiSha256s, reason],
    );
    return rows.length;
  }
}
