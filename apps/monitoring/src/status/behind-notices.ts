import { Transactions, type Tx } from '@certwright/core-schema';
import { AccountEvents, Mails } from '@certwright/delivery';
import { timestamp } from '@certwright/service';
import { Injectable } from '@nestjs/common';

/** Accounts of one transaction: their notices take well below a second. */
const batchSize = 100;

/** Only one copy of the process notifies at a time; the others would wait for its rows. */
const lock = `SELECT pg_try_advisory_xact_lock(hashtext('monitoring behind notices')) AS locked`;

interface Noticed {
  readonly id: string;
  readonly since: Date;
  readonly is_disabled: boolean;
  readonly wants_mail: boolean;
}

const noticed = `
  account.id, account.disabled_at IS NOT NULL AS is_disabled,
  coalesce((SELECT certificate_mail FROM monitoring_settings WHERE account_id = account.id), '') <> 'off' AS wants_mail`;

/** Notifies accounts that monitoring is behind, and later that it has caught up. Each once. */
@Injectable()
export class BehindNotices {
  constructor(
    private readonly transactions: Transactions,
    private readonly events: AccountEvents,
    private readonly mails: Mails,
  ) {}

  /** Every account with an enabled monitored domain that was not notified yet. @returns whether there may be more */
  async behind({ since, followedTo }: { since: Date; followedTo: Date }): Promise<boolean> {
    return await this.inBatches(async (tx) => {
      const accounts = await tx.query<Noticed[]>(
        `WITH due AS (
           SELECT id FROM account
           WHERE disabled_at IS NULL
             AND EXISTS (SELECT 1 FROM monitored_domain WHERE account_id = account.id AND enabled)
             AND NOT EXISTS (
               SELECT 1 FROM monitoring_account WHERE account_id = account.id AND behind_since IS NOT NULL)
           ORDER BY id LIMIT $2),
         marked AS (
           INSERT INTO monitoring_account (account_id, behind_since) SELECT id, $1 FROM due
           ON CONFLICT (account_id) DO UPDATE SET behind_since = excluded.behind_since
           WHERE monitoring_account.behind_since IS NULL RETURNING account_id, behind_since)
         SELECT ${noticed}, marked.behind_since AS since FROM marked JOIN account ON account.id = marked.account_id`,
        [since, batchSize],
      );
      return await this.notify(tx, 'behind', accounts, followedTo);
    });
  }

  /** Every account that was notified that monitoring was behind. @returns whether there may be more */
  async caughtUp(followedTo: Date): Promise<boolean> {
    return await this.inBatches(async (tx) => {
      const accounts = await tx.query<Noticed[]>(
        `WITH due AS (
           SELECT account_id, behind_since FROM monitoring_account WHERE behind_since IS NOT NULL
           ORDER BY account_id LIMIT $1 FOR NO KEY UPDATE),
         reset AS (
           UPDATE monitoring_account SET behind_since = NULL FROM due
           WHERE monitoring_account.account_id = due.account_id RETURNING due.account_id, due.behind_since)
         SELECT ${noticed}, reset.behind_since AS since FROM reset JOIN account ON account.id = reset.account_id`,
        [batchSize],
      );
      return await this.notify(tx, 'caught_up', accounts, followedTo);
    });
  }

  private async inBatches(batch: (tx: Tx) => Promise<number>): Promise<boolean> {
    return await this.transactions.run(async (tx) => {
      const [{ locked }] = await tx.query<[{ locked: boolean }]>(lock);
      return locked && (await batch(tx)) === batchSize;
    });
  }

  /** @returns how many accounts there were */
  private async notify(
    tx: Tx,
    what: 'behind' | 'caught_up',
    accounts: readonly Noticed[],
    followedTo: Date,
  ): Promise<number> {
    const notified = accounts.filter(({ is_disabled }) => !is_disabled);
    await this.events.enqueue(
      tx,
      notified.map(({ id, since }) => ({
        accountId: id,
        event: `monitoring.${what}` as const,
        subject: `${what}:${since.toISOString()}`,
        body: JSON.stringify({ since: timestamp(since), followed_to: timestamp(followedTo) }),
      })),
    );
    const kind = what === 'behind' ? 'monitoring-behind' : 'monitoring-caught-up';
    for (const { id, since, wants_mail } of notified) {
      if (!wants_mail) continue;
      const facts = { since: since.toISOString(), followedTo: followedTo.toISOString() };
      await this.mails.enqueueToAccount(tx, { accountId: id, kind, facts });
    }
    return accounts.length;
  }
}
