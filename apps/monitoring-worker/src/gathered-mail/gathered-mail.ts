import { Transactions, type Tx } from '@certwright/core-schema';
import { type AccountMail, Mails } from '@certwright/delivery';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { lockTask, type TaskLease } from '../tasks/task-leases';

/** How long notices are gathered for the next mail, minutes. */
export const gatheringMinutes = 15;

/** Columns of `monitoring_account`, and that of `monitoring_settings` with the account's choice. */
export interface MailColumns {
  readonly dueAt: 'mail_due_at' | 'endpoint_mail_due_at';
  readonly mailedAt: 'mailed_at' | 'endpoint_mailed_at';
  readonly mode: 'certificate_mail' | 'endpoint_mail';
}

export const certificateMail = {
  dueAt: 'mail_due_at',
  mailedAt: 'mailed_at',
  mode: 'certificate_mail',
} as const satisfies MailColumns;

export const endpointMail = {
  dueAt: 'endpoint_mail_due_at',
  mailedAt: 'endpoint_mailed_at',
  mode: 'endpoint_mail',
} as const satisfies MailColumns;

export type MailMode = 'at_once' | 'digest' | 'off';
export type MailOccasion = 'at-once' | 'gathered' | 'digest';

/** What is gathered for a mail. */
export interface GatheredKind {
  readonly columns: MailColumns;
  /** Leaves out what is no longer mailed, and takes the oldest ones, up to the maximum of a mail. @returns their ids */
  take(tx: Tx, accountId: string, mode: MailMode): Promise<readonly string[]>;
  hasMore(tx: Tx, accountId: string): Promise<boolean>;
  mailOf(accountId: string, ids: readonly string[], occasion: MailOccasion): AccountMail;
}

/** Accounts of one round. */
export const maxAccountsOfRound = 100;

/** Sends what was gathered for accounts: each notice once. */
@Injectable()
export class GatheredMails {
  constructor(
    private readonly database: DataSource,
    private readonly transactions: Transactions,
    private readonly mails: Mails,
  ) {}

  /** @returns for how many accounts something was due */
  async send(lease: TaskLease, kind: GatheredKind): Promise<number> {
    const { dueAt } = kind.columns;
    const accounts = await this.database.query<{ id: string }[]>(
      `SELECT account_id AS id FROM monitoring_account WHERE ${dueAt} <= now() ORDER BY ${dueAt} LIMIT $1`,
      [maxAccountsOfRound],
    );
    for (const { id } of accounts) {
      await this.transactions.run(async (tx) => {
        await lockTask(tx, lease);
        await this.sendTo(tx, id, kind);
      });
    }
    return accounts.length;
  }

  private async sendTo(tx: Tx, accountId: string, kind: GatheredKind): Promise<void> {
    const { dueAt, mailedAt, mode } = kind.columns;
    const [due] = await tx.query<{ mode: MailMode; isGathered: boolean }[]>(
      `SELECT coalesce(settings.${mode}, 'at_once') AS mode,
         coalesce(${dueAt} <= ${mailedAt} + $2::int * interval '1 minute', false) AS "isGathered"
       FROM monitoring_account AS counters
       LEFT JOIN monitoring_settings AS settings ON settings.account_id = counters.account_id
       WHERE counters.account_id = $1 AND ${dueAt} <= now() FOR UPDATE OF counters`,
      [accountId, gatheringMinutes],
    );
    if (due === undefined) return;
    const ids = await kind.take(tx, accountId, due.mode);
    const occasion = due.mode === 'digest' ? 'digest' : due.isGathered ? 'gathered' : 'at-once';
    if (ids.length > 0) await this.mails.enqueueToAccount(tx, kind.mailOf(accountId, ids, occasion));
    const hasMore = await kind.hasMore(tx, accountId);
    await tx.query(
      `UPDATE monitoring_account
       SET ${mailedAt} = CASE WHEN $2 THEN now() ELSE ${mailedAt} END,
         ${dueAt} = CASE WHEN $3 THEN now() + $4::int * interval '1 minute' END
       WHERE account_id = $1`,
      [accountId, ids.length > 0, hasMore, gatheringMinutes],
    );
  }
}

/** $1 accounts, $2 minutes. The first mail is sent at once, the next one later; a digest at its hour in UTC. */
export const mailDueStatement = ({ dueAt, mailedAt, mode }: MailColumns): string => `
  INSERT INTO monitoring_account AS counters (account_id, ${dueAt})
  SELECT account.id, CASE coalesce(settings.${mode}, 'at_once')
    WHEN 'at_once' THEN greatest(now(), state.${mailedAt} + $2::int * interval '1 minute')
    WHEN 'digest' THEN (
      SELECT min(hour) FROM generate_series(0, 1) AS day,
        LATERAL (SELECT (date_trunc('day', now() AT TIME ZONE 'UTC') + day * interval '1 day'
          + settings.digest_hour_utc * interval '1 hour') AT TIME ZONE 'UTC' AS hour) AS hours
      WHERE hour > now())
    END
  FROM account
  LEFT JOIN monitoring_settings AS settings ON settings.account_id = account.id
  LEFT JOIN monitoring_account AS state ON state.account_id = account.id
  WHERE account.id = ANY ($1::bigint[]) ORDER BY account.id
  ON CONFLICT (account_id) DO UPDATE SET ${dueAt} = excluded.${dueAt}
    WHERE counters.${dueAt} IS NULL`;
