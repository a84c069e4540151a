import { buysTerm, type Paid, type PurchaseKind, runningTerm, type SoldProduct } from './purchase';

/** A charge that has not led to a certificate. */
export interface UnusedCharge {
  readonly id: string;
  /** What stood as paid before it; null: nothing. */
  readonly before: Paid | null;
  /** What stood as paid with it. */
  readonly paid: Paid;
  /** Of the issuance that it serves. */
  readonly expiresBy: Date | null;
}

export interface TakeOver {
  /** Serve the new issuance. */
  readonly carried: readonly UnusedCharge[];
  /** Are given back. */
  readonly refunded: readonly UnusedCharge[];
  /** What stands as paid once they are. */
  readonly paid: Paid | null;
}

/**
 * What becomes of unused charges when another issuance is opened: where the term that they paid goes on, they serve the
 * new one; where a term is bought anew, they are given back first.
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
 * What stands as paid when charges are given back. A charge that was not the last to set it leaves it as it is.
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
