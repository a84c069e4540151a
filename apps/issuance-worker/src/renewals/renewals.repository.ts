import { Transactions, type Tx } from '@certwright/core-schema';
import { Problem } from '@certwright/errors';
import { renewalDecision, type RenewalDecision } from '@certwright/issuance';
import {
  endRenewalKeyRequests,
  openReplacements,
  Purchases,
  type Replacement,
  requestRenewalKeys,
} from '@certwright/ordering';
import { Injectable } from '@nestjs/common';
import { type DueRenewal, dueRenewals } from './due-renewals';
import { UnpaidRenewals } from './unpaid-renewals';

const isDue = `
  (plan.auto_renew OR plan.replacement_paid) AND NOT plan.paused AND plan.closed_at IS NULL
  AND plan.renew_at <= coalesce($2::timestamptz, now())`;

const oldest = `
  SELECT id FROM plan WHERE ${isDue} ORDER BY renew_at LIMIT $1 FOR UPDATE SKIP LOCKED`;

/** Index scan by account, with an equal share for each account but at least 8: see `LeasedIssuances.due`. */
const shared = `
  WITH RECURSIVE waiting (account_id) AS (
    (SELECT account_id FROM plan WHERE ${isDue} ORDER BY account_id LIMIT 1)
    UNION ALL
    SELECT next.account_id FROM waiting CROSS JOIN LATERAL (
      SELECT account_id FROM plan WHERE ${isDue} AND plan.account_id > waiting.account_id
      ORDER BY account_id LIMIT 1) AS next),
  share (of_account) AS (SELECT greatest(8, $1::int / count(*)) FROM waiting),
  turns AS (
    SELECT due.id FROM waiting CROSS JOIN share CROSS JOIN LATERAL (
      SELECT plan.id, renew_at, row_number() OVER (ORDER BY account_id, renew_at) AS turn FROM plan
      WHERE plan.account_id BETWEEN waiting.account_id AND waiting.account_id AND ${isDue}
      ORDER BY account_id, renew_at LIMIT of_account) AS due
    ORDER BY turn, renew_at LIMIT $1)
  SELECT id FROM plan WHERE id IN (SELECT id FROM turns) AND ${isDue} FOR UPDATE SKIP LOCKED`;

/**
 * Locks plans whose renewal time has come, oldest first; with more than `limit`, every account gets its share.
 * Rows that are locked by others are left to the next round.
 */
async function lockDuePlans(tx: Tx, limit: number, now: Date | null): Promise<string[]> {
  const first = await tx.query<{ id: string }[]>(oldest, [limit, now]);
  const shares = first.length < limit ? [] : await tx.query<{ id: string }[]>(shared, [limit, now]);
  // Unused shares go to the plans that have been due for longest.
  return [...new Set([...shares, ...first].map(({ id }) => id))].slice(0, limit);
}

export interface RenewalRound {
  /** Plans that were checked; when this equals the limit, there may be more. */
  readonly found: number;
  /** Issuances opened. */
  readonly opened: number;
  /** Renewals that the account could not pay: nothing was opened, and they are checked again. */
  readonly unpaid: readonly UnpaidRenewal[];
}

export interface UnpaidRenewal {
  readonly planId: string;
  readonly accountId: string;
  /** Contains the amount due and the balance. */
  readonly problem: string;
}

interface Decided {
  readonly renewal: DueRenewal;
  readonly decision: RenewalDecision;
}

type Look = Extract<RenewalDecision, { readonly lookAgainAt: Date }>;

@Injectable()
export class Renewals {
  constructor(
    private readonly transactions: Transactions,
    private readonly purchases: Purchases,
    private readonly unpaid: UnpaidRenewals,
  ) {}

  /**
   * Opens a replacement for every current certificate whose renewal time has come. Free replacements are opened in
   * one transaction, so a crash undoes them; the plans are locked, so no other worker checks the same ones, and no
   * API changes them meanwhile. Purchases follow plan by plan: an unpaid one does not stop the others, and balances
   * of accounts are never locked together. The issuances are due at once; the sweep, which is fair across accounts,
   * enqueues them.
   *
   * @param limit plans of one round
   * @param now default: the database's clock
   */
  async openDue(limit: number, now: Date | null = null): Promise<RenewalRound> {
    const { found, opened, purchases } = await this.openCovered(limit, now);
    let bought = 0;
    const unpaid: UnpaidRenewal[] = [];
    for (const { planId, accountId } of purchases) {
      const outcome = await this.buy(planId, now);
      if (outcome === 'bought') bought += 1;
      if (outcome instanceof Problem) unpaid.push({ planId, accountId, problem: outcome.message });
    }
    return { found, opened: opened + bought, unpaid };
  }

  /**
   * Current certificates that are about to expire although they are replaced automatically. Renewals are opened when a third
   * of the lifetime is left; what has less than a sixth has failed for a long time. Seven days bound the index scan. Without
   * those of disabled accounts that need a purchase, since no terms are bought for them.
   */
  async expiring(): Promise<number> {
    const [{ count }] = await this.transactions.run(
      async (tx) =>
        await tx.query<[{ count: number }]>(
          `SELECT count(*)::int AS count FROM certificate JOIN plan ON plan.id = certificate.plan_id
             JOIN account ON account.id = plan.account_id
           WHERE is_current AND revoked_at IS NULL AND not_after BETWEEN now() AND now() + interval '7 days'
             AND not_after < now() + (not_after - not_before) / 6
             AND (plan.auto_renew OR plan.replacement_paid) AND NOT plan.paused AND plan.closed_at IS NULL
             AND (account.disabled_at IS NULL OR plan.replacement_paid OR EXISTS (
               SELECT FROM terms JOIN product ON product.name = terms.product
               WHERE terms.id = plan.terms_id AND product.term_days IS NULL))`,
        ),
    );
    return count;
  }

  private async openCovered(
    limit: number,
    now: Date | null,
  ): Promise<Omit<RenewalRound, 'unpaid'> & { readonly purchases: readonly DueRenewal[] }> {
    return await this.transactions.run(async (tx) => {
      const planIds = await lockDuePlans(tx, limit, now);
      if (planIds.length === 0) return { found: 0, opened: 0, purchases: [] };
      // Read after the rows are locked: includes concurrent writes up to then.
      const decided = (await dueRenewals(tx, planIds, now)).map(decide);
      const replacements = decided.map(replacementOf).filter((replacement) => replacement !== null);
      await openReplacements(tx, replacements);
      await followKeys(tx, decided, replacements);
      await lookAgain(tx, decided);
      const purchases = decided.filter(({ decision }) => decision.kind === 'purchase');
      return {
        found: planIds.length,
        opened: replacements.length,
        purchases: purchases.map(({ renewal }) => renewal),
      };
    });
  }

  /** The next check of the plan is set already: a crash costs one hour of the remaining weeks. */
  private async buy(planId: string, now: Date | null): Promise<'bought' | 'needless' | Problem> {
    try {
      return await this.transactions.run(async (tx) => {
        if (!(await holdWanted(tx, planId))) return 'needless';
        const [renewal] = await dueRenewals(tx, [planId], now);
        const { decision } = renewal === undefined ? { decision: null } : decide(renewal);
        const replacement = renewal === undefined ? null : boughtReplacement(renewal);
        if (decision?.kind !== 'purchase' || !renewal?.product || replacement === null) return 'needless';
        const issuanceId = await this.purchases.renew(tx, replacement, renewal.product, now);
        if (issuanceId === null) return 'needless';
        if (renewal.inputs.newKey !== null) await endRenewalKeyRequests(tx, [planId]);
        return 'bought';
      });
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'payment_required') throw error;
      await this.transactions.run(async (tx) => await this.unpaid.notify(tx, planId));
      return error;
    }
  }
}

function decide(renewal: DueRenewal): Decided {
  return { renewal, decision: renewalDecision(renewal.inputs, renewal.now) };
}

/** The result of a decision to replace without charge. */
function replacementOf({ renewal, decision }: Decided): Replacement | null {
  if (decision.kind !== 'replace') return null;
  const replacement = ofTerms(renewal, decision.termsId);
  return replacement === null ? null : { ...replacement, expiresBy: decision.expiresBy };
}

/** A purchase always uses the present terms. */
function boughtReplacement(renewal: DueRenewal): Omit<Replacement, 'expiresBy'> | null {
  const { present } = renewal.inputs;
  return present === null ? null : ofTerms(renewal, present.id);
}

function ofTerms(renewal: DueRenewal, termsId: string): Omit<Replacement, 'expiresBy'> | null {
  const { planId, accountId, revision, certificateId } = renewal;
  const terms = renewal.terms.get(termsId);
  if (terms === undefined || certificateId === null) return null;
  const { dnsNames, approvalWays } = terms;
  return { planId, accountId, revision, termsId, dnsNames, approvalWays, certificateId };
}

/** Requests the new keys that renewals wait for; what goes on with the present key needs none. */
async function followKeys(
  tx: Tx,
  decided: readonly Decided[],
  replacements: readonly Replacement[],
): Promise<void> {
  const requested = decided.flatMap(({ renewal: { planId }, decision }) =>
    decision.kind === 'request_key' ? [{ planId, fallsBackAt: decision.lookAgainAt }] : [],
  );
  if (requested.length > 0) await requestRenewalKeys(tx, requested);
  const replaced = new Set(replacements.map(({ planId }) => planId));
  const ended = decided.filter(
    ({ renewal: { planId, inputs } }) => replaced.has(planId) && (inputs.newKey?.request ?? null) !== null,
  );
  if (ended.length > 0)
    await endRenewalKeyRequests(
      tx,
      ended.map(({ renewal }) => renewal.planId),
    );
}

/** The time of the next check, back-off included, is stored on the plan, where the caller sees it. */
async function lookAgain(tx: Tx, decided: readonly Decided[]): Promise<void> {
  const looked = decided.filter(({ decision }) => decision.kind !== 'unwanted');
  await tx.query(
    `UPDATE plan SET renew_at = decided.renew_at
     FROM unnest($1::bigint[], $2::timestamptz[]) AS decided (id, renew_at) WHERE plan.id = decided.id`,
    [
      looked.map(({ renewal }) => renewal.planId),
      looked.map(({ decision }) => (decision.kind === 'rest' ? null : (decision as Look).lookAgainAt)),
    ],
  );
  if (looked.length === decided.length) return;
  // Keeps the time: when `auto_renew` is turned on again, the certificate is renewed.
  const unwanted = decided.filter(({ decision }) => decision.kind === 'unwanted');
  await tx.query(`UPDATE plan SET replacement_paid = false WHERE id = ANY($1::bigint[])`, [
    unwanted.map(({ renewal }) => renewal.planId),
  ]);
}

/** @returns false when renewal is no longer requested */
async function holdWanted(tx: Tx, planId: string): Promise<boolean> {
  const rows = await tx.query<unknown[]>(
    `SELECT 1 FROM plan WHERE id = $1 AND auto_renew AND NOT paused AND closed_at IS NULL FOR UPDATE`,
    [planId],
  );
  return rows.length > 0;
}
