import type { Tx } from '@certwright/persistence';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** A plan whose current certificate is another one than its account's webhooks were told. */
export interface Unannounced {
  readonly planId: string;
  readonly accountId: string;
  /** The plan's `current_version` that is to be told. */
  readonly version: number;
}

/** One round of accounts with something to tell. */
export interface UnannouncedRound {
  readonly planIds: readonly string[];
  /** Where the next round begins; null: behind the last account. */
  readonly lastAccount: string | null;
}

/** What the webhooks were told last stands on the plan. */
@Injectable()
export class AnnouncementsRepository {
  constructor(private readonly database: DataSource) {}

  /**
   * Plans of orders with something to tell, in rounds that are fair: some of each account, and the accounts in turn.
   * An account may have none that are ours.
   *
   * @param afterAccount the last account of the round before; `0`: from the first one
   */
  async unannounced(
    afterAccount: string,
    { accounts, plansEach }: { readonly accounts: number; readonly plansEach: number },
  ): Promise<UnannouncedRound> {
    const rows: { accountId: string; planId: string | null }[] = await this.database.query(
      unannouncedStatement,
      [afterAccount, accounts, plansEach],
    );
    return {
      planIds: rows.flatMap(({ planId }) => planId ?? []),
      lastAccount: rows.at(-1)?.accountId ?? null,
    };
  }

  /**
   * Holds the plan until the transaction ends.
   *
   * @returns null when there is nothing to tell, or another copy holds the plan: the sweep comes back to it
   */
  async lock(tx: Tx, planId: string): Promise<Unannounced | null> {
    const [row] = await tx.query<[Unannounced?]>(
      `SELECT id AS "planId", account_id AS "accountId", current_version AS version FROM plan
       WHERE id = $1 AND current_version > announced_version AND ${ours} FOR NO KEY UPDATE OF plan SKIP LOCKED`,
      [planId],
    );
    return row ?? null;
  }

  /** The caller holds the plan. */
  async markAnnounced(tx: Tx, { planId, version }: Unannounced): Promise<void> {
    await tx.query(`UPDATE plan SET announced_version = $2 WHERE id = $1`, [planId, version]);
  }
}

/** Another API tells of its own plans. A closed one may have been anybody's: there is nothing to tell of it any more. */
const ours = `(plan.closed_at IS NOT NULL OR EXISTS (SELECT 1 FROM order_v3 WHERE order_v3.plan_id = plan.id))`;

/** Jumps from account to account along the index `plan_unannounced`, however many plans of one account wait there. */
const unannouncedStatement = `
  WITH RECURSIVE account_with_news AS (
    (SELECT account_id, 1 AS turn FROM plan
     WHERE current_version > announced_version AND account_id > $1::bigint ORDER BY account_id LIMIT 1)
    UNION ALL
    SELECT following.account_id, turn + 1 FROM account_with_news CROSS JOIN LATERAL (
      SELECT plan.account_id FROM plan
      WHERE current_version > announced_version AND plan.account_id > account_with_news.account_id
      ORDER BY plan.account_id LIMIT 1) AS following
    WHERE turn < $2::int)
  SELECT account_with_news.account_id AS "accountId", plan.id AS "planId"
  FROM account_with_news LEFT JOIN LATERAL (
    SELECT id FROM plan
    WHERE plan.account_id = account_with_news.account_id AND current_version > announced_version AND ${ours}
    ORDER BY id LIMIT $3::int) AS plan ON true
  ORDER BY turn, plan.id`;
