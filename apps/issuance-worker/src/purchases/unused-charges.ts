import { paidWithout } from '@certwright/issuance';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type Tx, Transactions } from '@certwright/core-schema';
import { type PaidColumns, paidColumns, paidOf, setPaid } from '@certwright/billing';
import { giveBack } from '@certwright/billing';
import { unusedCharge, unusedChargesOf, type UnusedRow } from '@certwright/billing';

/** A failed renewal whose next attempt takes its charge over. One with a blocked key is not attempted again. */
const isRetried = `
  issuance.state = 'failed' AND issuance.last_error ->> 'code' IS DISTINCT FROM 'key_compromised' AND EXISTS (
    SELECT FROM plan JOIN terms ON terms.id = plan.terms_id
    JOIN certificate ON certificate.id = issuance.replaces_certificate_id
    WHERE plan.id = issuance.plan_id AND plan.auto_renew AND NOT plan.paused AND plan.closed_at IS NULL
      AND terms.product = charge.product
      AND certificate.is_current AND certificate.revoked_at IS NULL AND certificate.not_after > now())`;

/** Issuances that ended without a certificate. */
const ended = `issuance.state IN ('canceled', 'failed', 'superseded') AND NOT (${isRetried})`;

/** Transactions that write charges are short: rows older than this, seconds, are visible to every process. */
const settledAfterS = 3_600;

interface LookedAt {
  readonly plan_id: string;
  readonly issuance_id: string;
  readonly ended: boolean;
  /** Not decided yet; this includes ended issuances, whose charge a purchase may carry over. */
  readonly undecided: boolean;
}

/**
 * Refunds charges whose issuances ended without a certificate and are not attempted again. Scans the charges by the issuances
 * that they pay for, in batches, and restarts at the oldest undecided one: so the cost of a round does not depend on the number
 * of purchases. May run in any number of processes.
 */
@Injectable()
export class UnusedCharges {
  /** Id of the last checked issuance. */
  private after = '0';
  /** Every charge up to this one is decided. */
  private decided = '0';
  /** The same, as found by this scan; null: no undecided charge so far. */
  private firstUndecided: string | null = null;

  constructor(
    private readonly database: DataSource,
    private readonly transactions: Transactions,
  ) {}

  /**
   * One step.
   *
   * @param limit max charges to check
   * @returns number checked; fewer than `limit`: the scan is over, and the next step starts a new one
   */
  async settle(limit: number): Promise<number> {
    const charges: LookedAt[] = await this.database.query(
      `SELECT charge.plan_id, charge.issuance_id, ${ended} AS ended,
         issuance.state <> 'issued' OR charge.created_at > now() - ${settledAfterS} * interval '1 second' AS undecided
       FROM charge JOIN issuance ON issuance.id = charge.issuance_id
       WHERE charge.refunded_at IS NULL AND charge.issuance_id > $1 ORDER BY charge.issuance_id LIMIT $2`,
      [this.after, limit],
    );
    const planIds = new Set(charges.filter((one) => one.ended).map(({ plan_id }) => plan_id));
    for (const planId of planIds) await this.transactions.run(async (tx) => await giveBackOf(tx, planId));
    this.moveOn(charges, limit);
    return charges.length;
  }

  private moveOn(charges: readonly LookedAt[], limit: number): void {
    this.firstUndecided ??= charges.find(({ undecided }) => undecided)?.issuance_id ?? null;
    this.after = charges.at(-1)?.issuance_id ?? this.after;
    if (charges.length === limit) return;
    this.decided = this.firstUndecided === null ? this.after : String(BigInt(this.firstUndecided) - 1n);
    this.after = this.decided;
    this.firstUndecided = null;
  }
}

interface PlanRow extends PaidColumns {
  readonly unused: readonly UnusedRow[];
}

/** All charges of one plan, newest first, so that each restores the state before it. */
async function giveBackOf(tx: Tx, planId: string): Promise<void> {
  await tx.query(`SELECT 1 FROM plan WHERE id = $1 FOR UPDATE`, [planId]);
  // Read after the row is locked: a purchase may have carried them over until then.
  const [row] = await tx.query<PlanRow[]>(
    `SELECT ${paidColumns}, (${unusedChargesOf('plan.id', ended)}) AS unused FROM plan WHERE id = $1`,
    [planId],
  );
  if (row === undefined || row.unused.length === 0) return;
  const charges = row.unused.map(unusedCharge);
  const paid = paidOf(row);
  const left = paidWithout(charges, paid);
  if (left !== paid) await setPaid(tx, planId, left);
  await giveBack(
    tx,
    charges.map(({ id }) => id),
  );
}
