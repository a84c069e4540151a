import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Transactions, type Tx } from '@certwright/core-schema';

export interface FreshApiKey {
  readonly label: string;
  readonly permissions: readonly string[];
  /** SHA-256 over the whole key as sent. */
  readonly secretSha256: Uint8Array;
  readonly keySealed: Uint8Array;
}

export interface Minting {
  /** Whether a sealed key can still be opened; otherwise it is lost. */
  readonly opens: (keySealed: Buffer) => boolean;
  readonly mint: () => FreshApiKey;
}

/** The one API key of an account that its users can retrieve again. */
@Injectable()
export class ApiCredentials {
  constructor(
    private readonly database: DataSource,
    private readonly transactions: Transactions,
  ) {}

  /**
   * Returns the account's key, the same for all its users; creates a new one when it is disabled or lost.
   *
   * @returns the sealed key
   */
  async ensure(accountId: string, { opens, mint }: Minting): Promise<Buffer> {
    const current = await currentKey(this.database, accountId);
    if (current !== null && opens(current)) return current;
    return await this.transactions.run(async (tx) => {
      // Serialized per account; otherwise two keys would be created, one of which would be lost.
      await tx.query(`SELECT 1 FROM account WHERE id = $1 FOR NO KEY UPDATE`, [accountId]);
      const meanwhile = await currentKey(tx, accountId);
      return meanwhile !== null && opens(meanwhile) ? meanwhile : await insert(tx, accountId, mint());
    });
  }
}

async function currentKey(reader: Pick<Tx, 'query'>, accountId: string): Promise<Buffer | null> {
  const [row] = await reader.query<[{ key_sealed: Buffer }?]>(
    `SELECT key_sealed FROM api_credential JOIN api_key ON api_key.id = api_key_id
     WHERE api_credential.account_id = $1 AND api_key.disabled_at IS NULL`,
    [accountId],
  );
  return row?.key_sealed ?? null;
}

async function insert(tx: Tx, accountId: string, fresh: FreshApiKey): Promise<Buffer> {
  const [row] = await tx.query<[{ key_sealed: Buffer }]>(
    `WITH minted AS (
       INSERT INTO api_key (account_id, label, secret_sha256, permissions) VALUES ($1, $2, $3, $4) RETURNING id)
     INSERT INTO api_credential (account_id, api_key_id, key_sealed) SELECT $1, id, $5 FROM minted
     ON CONFLICT (account_id) DO UPDATE SET
       api_key_id = excluded.api_key_id, key_sealed = excluded.key_sealed, created_at = excluded.created_at
     RETURNING key_sealed`,
    [accountId, fresh.label, fresh.secretSha256, fresh.permissions, fresh.keySealed],
  );
  return row.key_sealed;
}
