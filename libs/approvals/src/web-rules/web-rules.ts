import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Tx } from '@certwright/core-schema';

/** The secret in the path that an account's web servers redirect or proxy to. */
@Injectable()
export class WebRules {
  constructor(private readonly database: DataSource) {}

  /**
   * Makes sure that the account has its secret; one that stands is kept for ever, since the customer's servers know it.
   *
   * @param fresh 160 random bits in base32, lower case; called and used only where none stands yet
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

  /** @returns null while the account has been told no rule */
  async ofAccount(accountId: string, reader: Pick<Tx, 'query'> = this.database): Promise<string | null> {
    const [row] = await reader.query<[{ secret: string }?]>(
      `SELECT secret FROM web_rule WHERE account_id = $1`,
      [accountId],
    );
    return row?.secret ?? null;
  }
}
