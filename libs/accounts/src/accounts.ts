import { wantsMail } from '@certwright/delivery';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** The account's part of the subject of CSRs. */
export interface AccountSubject {
  /** ISO 3166-1 alpha-2, capitals. */
  readonly country: string | null;
  /** State or province. */
  readonly state: string | null;
  readonly locality: string | null;
  readonly organization: string | null;
}

/** Mails about certificates of the certificate API (v2) that the account receives. */
export interface MailSettings {
  /** For each instance that is issued. */
  readonly mailWhenIssued: boolean;
  /** When a revocation is complete. */
  readonly mailWhenRevoked: boolean;
}

export interface Account extends AccountSubject, MailSettings {
  readonly id: string;
  readonly name: string;
  readonly contactEmail: string | null;
}

const columns = `id, name, contact_email AS "contactEmail", country, state, locality, organization,
  ${wantsMail('mail_when_issued')} AS "mailWhenIssued", ${wantsMail('mail_when_revoked')} AS "mailWhenRevoked"`;

@Injectable()
export class Accounts {
  constructor(private readonly database: DataSource) {}

  /** @throws Error when there is none: every authenticated caller has one */
  async get(accountId: string): Promise<Account> {
    const [row] = await this.database.query<[Account?]>(`SELECT ${columns} FROM account WHERE id = $1`, [
      accountId,
    ]);
    if (row === undefined) throw new Error(`there is no account ${accountId}`);
    return row;
  }

  /** Changes the given settings. @returns false when there is no such account */
  async changeMailSettings(
    accountId: string,
    { mailWhenIssued, mailWhenRevoked }: Partial<MailSettings>,
  ): Promise<boolean> {
    const [, changed] = await this.database.query<[unknown, number]>(
      `UPDATE account SET mail_when_issued = coalesce($2, mail_when_issued),
         mail_when_revoked = coalesce($3, mail_when_revoked) WHERE id = $1`,
      [accountId, mailWhenIssued ?? null, mailWhenRevoked ?? null],
    );
    return changed > 0;
  }

  /** Changes the given members, including to null. */
  async changeSubject(accountId: string, change: Partial<AccountSubject>): Promise<Account> {
    const given = [change.country, change.state, change.locality, change.organization];
    const [[row]] = await this.database.query<[[Account?], number]>(
      `UPDATE account SET
         country = CASE WHEN $2::boolean THEN $3 ELSE country END,
         state = CASE WHEN $4::boolean THEN $5 ELSE state END,
         locality = CASE WHEN $6::boolean THEN $7 ELSE locality END,
         organization = CASE WHEN $8::boolean THEN $9 ELSE organization END
       WHERE id = $1 RETURNING ${columns}`,
      [accountId, ...given.flatMap((value) => [value !== undefined, value ?? null])],
    );
    if (row === undefined) throw new Error(`there is no account ${accountId}`);
    return row;
  }
}

interface FoundUser {
  readonly userId: string;
  readonly accountId: string;
  /** `scrypt:N:r:p:salt:hash`. */
  readonly passwordHash: string;
  /** The user, or the whole account. */
  readonly disabled: boolean;
}

/** Users who sign in with a password. */
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
