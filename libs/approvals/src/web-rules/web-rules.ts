import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Tx } from '@certwright/core-schema';

/** The secret in the path that an account's web servers redirect or proxy to. */
@Injectable()
export class WebRules {
  constructor(private readonly database: DataSource) {}

  /**
   * Ensures that the account has a secret; an existing one never changes, since the customer's servers contain it.
   *
   * @param fresh 160 random bits in base32, lower case; called and used only if there is no secret yet
   */
  async ensure(
    accountId: string,
    fresh: () => string,
    tx: Pick<Tx, 'query'> = this.database,
  ): Promise<string> {
    const standing = await this.ofAccount(accountId, tx);
    if (standing !== null) return standing;
    const [row] = await tx.query<[{ secret: string }]>(
      `INSERT INTO web_rule (account_id, secret) VALUES ($1, $2)
       ON CONFLICT (account_id) DO UPDATE SET account_id = excluded.account_id RETURNING secret`,
      [accountId, fresh()],
    );
    return row.secret;
  }

  /** @returns null before the account has requested its rule */
  async ofAccount(accountId: string, reader: Pick<Tx, 'query'> = this.database): Promise<string | null> {
    const [row] = await reader.query<[{ secret: string }?]>(
      `SELECT secret FROM web_rule WHERE account_id = $1`,
      [accountId],
    );
    return row?.secret ?? null;
  }
}
