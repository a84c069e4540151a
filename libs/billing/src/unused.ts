import type { UnusedCharge } from '@certwright/issuance';
import type { ChargeEntity, PaidBefore } from '@certwright/core-schema';
import { paidBefore } from './paid';

/** As JSON, where instants are texts. */
export interface UnusedRow extends Pick<ChargeEntity, 'id' | 'kind' | 'product' | 'names' | 'wildcards'> {
  readonly paidThrough: string;
  readonly before: PaidBefore;
  readonly expiresBy: string | null;
}

/**
 * Charges of a plan that have not led to a certificate and were not given back, oldest first, as one JSON array.
 *
 * @param states of the issuances that they serve, as an SQL condition on `issuance.state`
 */
export const unusedChargesOf = (planId: string, states: string) => `
  SELECT coalesce(jsonb_agg(jsonb_build_object(
      'id', charge.id::text, 'kind', charge.kind, 'product', charge.product, 'names', charge.names,
      'wildcards', charge.wildcards, 'paidThrough', charge.paid_through, 'before', charge.before,
      'expiresBy', issuance.expires_by) ORDER BY charge.id), '[]')
  FROM charge JOIN issuance ON issuance.id = charge.issuance_id
  WHERE charge.plan_id = ${planId} AND charge.refunded_at IS NULL AND ${states}`;

export function unusedCharge(row: UnusedRow): UnusedCharge {
  const before = paidBefore(row.before);
  // A term is paid for all of its names, an addition on top of those that were paid.
  const base = row.kind === 'term' ? null : before;
  return {
    id: row.id,
    before,
    paid: {
      through: new Date(row.paidThrough),
      product: row.product,
      names: (base?.names ?? 0) + row.names,
      wildcards: (base?.wildcards ?? 0) + row.wildcards,
    },
    expiresBy: row.expiresBy === null ? null : new Date(row.expiresBy),
  };
}
