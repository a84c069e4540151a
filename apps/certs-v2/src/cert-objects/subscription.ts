import { buysTerm, endsWithinTerm, type Product, runningTerm } from '@certwright/issuance';
import type { StoredCertObject } from './cert-object';

/** What was bought for an object, and how long its active instance lasts. */
export type Subscription = Pick<StoredCertObject, 'paidThrough' | 'paidProduct' | 'activeUntil'>;

/**
 * Whether only a purchase renews the object. Existing clients buy where it is so, and reissue otherwise; a reissue needs an
 * active instance, and is worth it only while the term lasts longer than that one.
 *
 * @param product what the type of the object stands for; null: there is none
 */
export function isSubscriptionEnding(
  { paidThrough, paidProduct, activeUntil }: Subscription,
  product: Pick<Product, 'name' | 'termDays'> | null,
  now: Date,
): boolean {
  if (product === null || paidThrough === null || paidProduct === null || activeUntil === null) return true;
  // How many names it covers is the price of a reissue, and does not decide whether one is possible.
  const paid = { through: paidThrough, product: paidProduct, names: 0, wildcards: 0 };
  const running = runningTerm(paid, product.name, now);
  if (running === null || buysTerm('renewal', running, product, now)) return true;
  return !endsWithinTerm({ notAfter: activeUntil }, { own: null, paid: running });
}
