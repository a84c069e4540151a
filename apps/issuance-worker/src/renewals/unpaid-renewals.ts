import { Injectable } from '@nestjs/common';
import { Mails } from '@certwright/delivery';
import type { Tx } from '@certwright/core-schema';

/** Notifies accounts that a renewal could not be paid. */
@Injectable()
export class UnpaidRenewals {
  constructor(private readonly mails: Mails) {}

  /**
   * Once for each term: a mail since the last purchase of a term is enough, unless it was canceled when it was to be sent,
   * for example because the plan was paused. Accounts without an address get none.
   *
   * @returns whether a mail is sent now
   */
  async notify(tx: Tx, planId: string): Promise<boolean> {
    const [plan] = await tx.query<{ account_id: string }[]>(
      `SELECT account_id FROM plan WHERE id = $1 FOR UPDATE`,
      [planId],
    );
    if (plan === undefined) return false;
    const { account_id: accountId } = plan;
    const recipient = await this.mails.addressOf(accountId, tx);
    if (recipient === null || (await isNotified(tx, planId, recipient))) return false;
    await this.mails.enqueue(tx, { accountId, kind: 'renewal-unpaid', recipient, facts: { planId } });
    return true;
  }
}

/** Mails are kept for 30 days after sending, which is as long as a renewal is tried. */
async function isNotified(tx: Tx, planId: string, recipient: string): Promise<boolean> {
  const rows = await tx.query<unknown[]>(
    `SELECT 1 FROM mail
     WHERE recipient = $2 AND kind = 'renewal-unpaid' AND state <> 'canceled' AND facts ->> 'planId' = $1::text
       AND created_at > coalesce((
         SELECT max(created_at) FROM charge
         WHERE plan_id = $1::bigint AND kind = 'term' AND refunded_at IS NULL), '-infinity')
     LIMIT 1`,
    [planId, recipient],
  );
  return rows.length > 0;
}
