import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

export interface FoundUser {
  readonly userId: string;
  readonly accountId: string;
  /** `scrypt:N:r:p:salt:hash`. */
  readonly passwordHash: string;
  /** The user, or the whole account. */
  readonly disabled: boolean;
}

/** People who sign in with a password. */
@Injectable()
export class AccountUsers {
  constructor(private readonly database: DataSource) {}

  /** @param userName the email address, in lower case */
  async find(userName: string): Promise<FoundUser | null> {
    const rows: FoundUser[] = await this.database.query(
      `SELECT account_user.id AS "userId", account_user.account_id AS "accountId",
              account_user.password_hash AS "passwordHash",
              (account_user.disabled_at IS NOT NULL OR account.disabled_at IS NOT NULL) AS disabled
       FROM account_user JOIN account ON account.id = account_user.account_id
       WHERE account_user.email = $1`,
      [userName],
    );
    return rows[0] ?? null;
  }
}
