import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { PlanOwner } from '@certwright/core-schema';
import type { Tx } from '@certwright/core-schema';

/** A plan whose current certificate has not been announced to its account's webhooks. */
export interface Unannounced {
  readonly planId: string;
  readonly accountId: string;
  /** The plan's `current_version` to announce. */
  readonly version: number;
}

/** Some accounts with something to tell, and some plans of each. */
export interface UnannouncedPlans {
  readonly planIds: readonly string[];
  /** Behind which account to go on; null: behind the last one. */
  readonly lastAccount: string | null;
}

/** The plan stores the last announced version; the API that owns the plan announces changes. */
@Injectable()
export class Announcements {
  constructor(private readonly database: DataSource) {}

  /**
   * Plans of an owner with something to tell, in rounds that are fair: some of each account, and the accounts in turn.
   * An account may have none of this owner. A closed plan has nothing to tell and is among them all the same: it is to
   * be marked.
   *
   * @param afterAccount the last account of the round before; `0`: from the first one
   */
  async unannounced(
    owner: PlanOwner,
    afterAccount: string,
    { accounts, plansEach }: { readonly accounts: number; readonly plansEach: number },
  ): Promise<UnannouncedPlans> {
    const rows: { accountId: string; planId: string | null }[] = await this.database.query(
      unannouncedStatement,
      [afterAccount, accounts, plansEach, owner],
    );
    return {
      planIds: rows.flatMap(({ planId }) => planId ?? []),
      lastAccount: rows.at(-1)?.accountId ?? null,
    };
  }

  /**
   * Holds the plan until the transaction ends.
   *
   * @returns null when there is nothing to tell, the plan is another owner's, or another copy holds it: the sweep comes
   *   back to it
   */
  async lock(tx: Tx, owner: PlanOwner, planId: string): Promise<Unannounced | null> {
    const [row] = await tx.query<[Unannounced?]>(
      `SELECT id AS "planId", account_id AS "accountId", current_version AS version FROM plan
       WHERE id = $1 AND current_version > announced_version AND owner = $2 FOR NO KEY UPDATE SKIP LOCKED`,
      [planId, owner],
    );
    return row ?? null;
  }

  /** The caller holds the plan. */
  async markAnnounced(tx: Tx, { planId, version }: Unannounced): Promise<void> {
    await tx.query(`UPDATE plan SET announced_version = $2 WHERE id = $1`, [planId, version]);
  }
}

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
    WHERE plan.account_id = account_with_news.account_id AND current_version > announced_version AND owner = $4
    ORDER BY id LIMIT $3::int) AS plan ON true
  ORDER BY turn, plan.id`;
