import { inOrderOf, keysOf, SharedReads } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

export interface FoundApiKey {
  readonly keyId: string;
  readonly accountId: string;
  readonly permissions: readonly string[];
  readonly disabled: boolean;
}

@Injectable()
export class ApiKeys {
  /** Anyone may send any number of keys that do not exist: they must not take the connections of other requests. */
  private readonly reads = new SharedReads<Uint8Array, FoundApiKey | null>((keys) => this.findAll(keys));

  constructor(private readonly database: DataSource) {}

  /** @param secretSha256 SHA-256 over the whole key as sent */
  async find(secretSha256: Uint8Array): Promise<FoundApiKey | null> {
    return await this.reads.read(secretSha256);
  }

  private async findAll(keys: readonly Uint8Array[]): Promise<(FoundApiKey | null)[]> {
    const rows: (FoundApiKey & { readonly nth: number })[] = await this.database.query(
      `SELECT wanted.nth::int, found.* FROM ${keysOf('bytea')} AS wanted (secret_sha256, nth)
       CROSS JOIN LATERAL (
         SELECT api_key.id AS "keyId", api_key.account_id AS "accountId", api_key.permissions,
                (api_key.disabled_at IS NOT NULL OR account.disabled_at IS NOT NULL) AS disabled
         FROM api_key JOIN account ON account.id = api_key.account_id
         WHERE api_key.secret_sha256 = wanted.secret_sha256 LIMIT 1) AS found`,
      [keys],
    );
    return inOrderOf<FoundApiKey>(keys, rows);
  }
}
