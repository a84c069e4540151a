import type { Paid } from '@certwright/issuance';
import type { Tx } from '@certwright/core-schema';
import type { PaidBefore } from '@certwright/core-schema';

/** The columns of `plan` that say what is paid. */
export interface PaidColumns {
  readonly paid_through: Date | null;
  readonly paid_product: string | null;
  readonly paid_names: number;
  readonly paid_wildcards: number;
}

export const paidColumns = `plan.paid_through, plan.paid_product, plan.paid_names, plan.paid_wildcards`;

export function paidOf({ paid_through, paid_product, paid_names, paid_wildcards }: PaidColumns): Paid | null {
  if (paid_through === null || paid_product === null) return null;
  return { through: paid_through, product: paid_product, names: paid_names, wildcards: paid_wildcards };
}

/** The caller holds the plan's row. */
export async function setPaid(tx: Tx, planId: string, paid: Paid | null): Promise<void> {
  await tx.query(
    `UPDATE plan SET paid_through = $2, paid_product = $3, paid_names = $4, paid_wildcards = $5 WHERE id = $1`,
    [planId, ...paidValues(paid)],
  );
}

/** Through, product, names, wildcard names: in the order of the columns. */
export function paidValues(paid: Paid | null): [Date | null, string | null, number, number] {
  return paid === null ? [null, null, 0, 0] : [paid.through, paid.product, paid.names, paid.wildcards];
}

export function storedBefore(paid: Paid | null): PaidBefore {
  const [through, product, names, wildcards] = paidValues(paid);
  return { paidThrough: through?.toISOString() ?? null, product, names, wildcards };
}

export function paidBefore({ paidThrough, product, names, wildcards }: PaidBefore): Paid | null {
  if (paidThrough === null || product === null) return null;
  return { through: new Date(paidThrough), product, names, wildcards };
}
