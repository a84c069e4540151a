import type { Purchase } from '@certwright/issuance';
import type { Tx } from '@certwright/core-schema';
import type { PaidBefore } from '@certwright/core-schema';
import { paidValues } from './paid';

/** From now on these charges serve another issuance. */
export async function carryOver(tx: Tx, chargeIds: readonly string[], issuanceId: string): Promise<void> {
  await tx.query(`UPDATE charge SET issuance_id = $2 WHERE id = ANY($1::bigint[])`, [chargeIds, issuanceId]);
}

/**
 * Gives back what charges cost, each once, whatever is repeated: charge, ledger, invoice and balance in one
 * statement. The caller, who holds the lock on the plan's row, stores what is paid.
 */
export async function giveBack(tx: Tx, chargeIds: readonly string[]): Promise<void> {
  await tx.query(
    `WITH returned AS (
       UPDATE charge SET refunded_at = clock_timestamp() WHERE id = ANY($1::bigint[]) AND refunded_at IS NULL
       RETURNING id, account_id, cents, currency),
     entered AS (
       INSERT INTO ledger_entry (account_id, kind, cents, currency, charge_id, note)
       SELECT account_id, 'refund', cents, currency, id, 'no certificate was issued'
       FROM returned WHERE cents > 0 ORDER BY id),
     marked AS (
       UPDATE invoice SET refunded_at = clock_timestamp() FROM returned WHERE invoice.charge_id = returned.id)
     UPDATE account_balance SET balance_cents = balance_cents + owed.cents
     FROM (SELECT account_id, sum(cents) AS cents FROM returned GROUP BY account_id) AS owed
     WHERE account_balance.account_id = owed.account_id AND owed.cents > 0`,
    [chargeIds],
  );
}

export interface ChargedIssuance {
  readonly accountId: string;
  readonly planId: string;
  readonly issuanceId: string;
  readonly purchase: Purchase;
  /** What stood as paid. */
  readonly before: PaidBefore;
}

/** What was bought, and what is paid from now on. @returns the charge's id */
export async function charge(
  tx: Tx,
  { accountId, planId, issuanceId, purchase, before }: ChargedIssuance,
): Promise<string> {
  const { kind, names, wildcards, paid, cents, currency } = purchase;
  const [row] = await tx.query<[{ id: string }]>(
    `WITH paid AS (
       UPDATE plan SET paid_through = $4, paid_product = $5, paid_names = $6, paid_wildcards = $7 WHERE id = $2)
     INSERT INTO charge
       (account_id, plan_id, made_for_issuance_id, issuance_id, kind, product, names, wildcards, paid_through, before,
        cents, currency)
     VALUES ($1, $2, $3, $3, $8, $5, $9, $10, $4, $11, $12, $13) RETURNING id`,
    [
      ...[accountId, planId, issuanceId],
      ...paidValues(paid),
      ...[kind, names, wildcards, JSON.stringify(before), cents, currency],
    ],
  );
  return row.id;
}
