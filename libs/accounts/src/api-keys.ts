import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

export interface FoundApiKey {
  readonly keyId: string;
  readonly accountId: string;
  readonly permissions: readonly string[];
  readonly disabled: boolean;
}

interface ApiKeyRow {
  readonly key_id: string;
  readonly account_id: string;
  readonly permissions: string[];
  readonly disabled: boolean;
}

@Injectable()
export class ApiKeys {
  constructor(private readonly database: DataSource) {}

  /** @param secretSha256 SHA-256 over the whole key as sent */
  async find(secretSha256: Uint8Array): Promise<FoundApiKey | null> {
    const rows: ApiKeyRow[] = await this.database.query(
      `SELECT api_key.id AS key_id, api_key.account_id, api_key.permissions,
              (api_key.disabled_at IS NOT NULL OR account.disabled_at IS NOT NULL) AS disabled
       FROM api_key JOIN account ON account.id = api_key.account_id
       WHERE api_key.secret_sha256 = $1`,
      [secretSha256],
    );
    const [row] = rows;
    if (row === undefined) return null;
    return {
      keyId: row.key_id,
      accountId: row.account_id,
      permissions: row.permissions,
      disabled: row.disabled,
    };
  }
}
