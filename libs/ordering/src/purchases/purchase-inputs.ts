import type { Paid, UnusedCharge } from '@certwright/issuance';
import type { Tx } from '@certwright/core-schema';
import { type PaidColumns, paidColumns, paidOf } from '@certwright/billing';
import { unusedCharge, unusedChargesOf, type UnusedRow } from '@certwright/billing';

/** Inputs for deciding about a purchase. */
export interface PurchaseInputs {
  /** The database's clock. */
  readonly now: Date;
  /** The deployment does not charge. */
  readonly isSandbox: boolean;
  readonly paid: Paid | null;
  /** Oldest first, including those of the open issuance, which is superseded. */
  readonly unused: readonly UnusedCharge[];
  /** Paid end of the current certificate; null: there is no certificate, or it was not paid. */
  readonly currentExpiresBy: Date | null;
}

interface FactsRow extends PaidColumns {
  readonly now: Date;
  readonly is_sandbox: boolean;
  readonly unused: readonly UnusedRow[];
  readonly current_expires_by: Date | null;
}

const statement = `
  SELECT clock.now, EXISTS (SELECT FROM deployment WHERE mode = 'sandbox') AS is_sandbox, ${paidColumns},
    (${unusedChargesOf('plan.id', `issuance.state <> 'issued'`)}) AS unused,
    (SELECT issuance.expires_by FROM certificate JOIN issuance ON issuance.id = certificate.issuance_id
     WHERE certificate.plan_id = plan.id AND certificate.is_current AND certificate.revoked_at IS NULL
       AND certificate.not_after >= clock.now) AS current_expires_by
  FROM (SELECT coalesce($2::timestamptz, clock_timestamp()) AS now) AS clock
  LEFT JOIN plan ON plan.id = $1`;

/**
 * @param planId null: the plan does not exist yet
 * @param now null: the database's clock
 */
export async function purchaseInputs(
  reader: Pick<Tx, 'query'>,
  planId: string | null,
  now: Date | null = null,
): Promise<PurchaseInputs> {
  const [row] = await reader.query<FactsRow[]>(statement, [planId, now]);
  if (row === undefined) throw new Error('the database returned no time');
  return {
    now: row.now,
    isSandbox: row.is_sandbox,
    paid: paidOf(row),
    unused: row.unused.map(unusedCharge),
    currentExpiresBy: row.current_expires_by,
  };
}
