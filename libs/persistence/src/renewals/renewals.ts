import { renewalDecision, type RenewalDecision } from '@certwright/issuance';
import { Injectable } from '@nestjs/common';
import { openReplacements } from '../issuances/replacements';
import { type Tx, Transactions } from '../transactions/transactions';
import { type DueRenewal, dueRenewals, lockDuePlans } from './due-renewals';

export interface RenewalRound {
  /** Plans that were looked at; as many as asked for: there may be more. */
  readonly found: number;
  /** Issuances opened. */
  readonly opened: number;
}

@Injectable()
export class Renewals {
  constructor(private readonly transactions: Transactions) {}

  /**
   * Opens a replacement for every current certificate whose time has come. In one transaction, so a crash undoes it; the
   * plans are held, so no other worker looks at the same ones, and no API changes them meanwhile. The issuances are due
   * at once and nudged by the sweep, which is fair over accounts.
   *
   * @param limit plans of one round
   * @param now default: the database's clock
   */
  async openDue(limit: number, now: Date | null = null): Promise<RenewalRound> {
    return await this.transactions.run(async (tx) => {
      const planIds = await lockDuePlans(tx, limit, now);
      if (planIds.length === 0) return { found: 0, opened: 0 };
      // Read after the rows are held: what others wrote until then is seen.
      const due = (await dueRenewals(tx, planIds, now)).map((renewal) => ({
        renewal,
        decision: renewalDecision(renewal.facts, renewal.now),
      }));
      const replaced = due
        .filter(({ decision }) => decision.kind === 'replace')
        .map(({ renewal }) => renewal);
      await openReplacements(tx, replaced.filter(isReplaceable));
      await lookAgain(tx, due);
      return { found: planIds.length, opened: replaced.length };
    });
  }
}

interface Decided {
  readonly renewal: DueRenewal;
  readonly decision: RenewalDecision;
}

/** When to look again stands on the plan, a back-off too, where the caller sees it. */
async function lookAgain(tx: Tx, due: readonly Decided[]): Promise<void> {
  await tx.query(
    `UPDATE plan SET renew_at = decided.renew_at
     FROM unnest($1::bigint[], $2::timestamptz[]) AS decided (id, renew_at) WHERE plan.id = decided.id`,
    [
      due.map(({ renewal }) => renewal.planId),
      due.map(({ decision }) => (decision.kind === 'rest' ? null : decision.lookAgainAt)),
    ],
  );
}

/** The decision to replace says so already. */
function isReplaceable<R extends DueRenewal>(
  renewal: R,
): renewal is R & { readonly termsId: string; readonly certificateId: string } {
  return renewal.termsId !== null && renewal.certificateId !== null;
}
