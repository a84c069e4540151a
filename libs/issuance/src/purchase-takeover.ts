import { buysTerm, type Paid, type PurchaseKind, runningTerm, type SoldProduct } from './purchase';

/** A charge that has not led to a certificate. */
export interface UnusedCharge {
  readonly id: string;
  /** Paid term before it; null: none. */
  readonly before: Paid | null;
  /** Paid term after it. */
  readonly paid: Paid;
  /** Of the issuance that it serves. */
  readonly expiresBy: Date | null;
}

export interface TakeOver {
  /** Serve the new issuance. */
  readonly carried: readonly UnusedCharge[];
  /** Charges to refund. */
  readonly refunded: readonly UnusedCharge[];
  /** Paid term after the refund. */
  readonly paid: Paid | null;
}

/**
 * Decides about unused charges when another issuance is opened. If the term that they paid continues, they serve the
 * new issuance; if a term is bought again, they are refunded first.
 *
 * @param unused oldest first
 */
export function takeOver(
  kind: PurchaseKind,
  product: SoldProduct,
  paid: Paid | null,
  unused: readonly UnusedCharge[],
  now: Date,
): TakeOver {
  const running = runningTerm(paid, product.name, now);
  const goesOn = running !== null && !buysTerm(kind, running, product, now);
  const carried = goesOn ? unused.filter((charge) => charge.paid.product === product.name) : [];
  const refunded = unused.filter((charge) => !carried.includes(charge));
  return { carried, refunded, paid: paidWithout(refunded, paid) };
}

/**
 * The paid term after charges are refunded. Refunding a charge that was not the last to set it leaves it unchanged.
 *
 * @param charges oldest first
 */
export function paidWithout(charges: readonly UnusedCharge[], paid: Paid | null): Paid | null {
  return charges.reduceRight<Paid | null>(
    (standing, charge) => (isSame(standing, charge.paid) ? charge.before : standing),
    paid,
  );
}

function isSame(one: Paid | null, other: Paid): boolean {
  return (
    one !== null &&
    one.through.getTime() === other.through.getTime() &&
    one.product === other.product &&
    one.names === other.names &&
    one.wildcards === other.wildcards
  );
}
