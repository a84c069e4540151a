import type { CaLimit } from '@certwright/core-schema';
import type { CaLimitBucketEntity } from '@certwright/core-schema';

export type BucketKind = CaLimitBucketEntity['kind'];

/** A bucket with its current limit. */
export interface Bucket {
  readonly kind: BucketKind;
  readonly key: string;
  readonly limit: CaLimit;
  /** Tokens, as of now. */
  readonly spent: number;
}

/** The bucket that stays empty longest. */
export interface Wait {
  readonly bucket: Bucket;
  /** Seconds from now; above 0. */
  readonly seconds: number;
}

/** Max rounding error of the floating-point arithmetic, tokens. */
const tolerance = 1e-6;
/** Below this, the spent share, which decays exponentially, counts as zero: tokens. */
const shareForgottenBelow = 0.01;

/** The amount still spent after `elapsedS`. */
export function stillSpent(kind: BucketKind, { count, perS }: CaLimit, spent: number, elapsedS: number) {
  const passedS = Math.max(0, elapsedS);
  if (kind === 'shareOfNewOrders') return spent * Math.exp(-passedS / perS);
  return Math.max(0, spent - (passedS * count) / perS);
}

/** Seconds until the spent amount is zero. */
export function spentForS({ kind, limit: { count, perS }, spent }: Bucket): number {
  if (kind === 'shareOfNewOrders') return perS * Math.max(0, Math.log(spent / shareForgottenBelow));
  return (spent * perS) / count;
}

/** The spent amount with which the next token comes after `seconds`. */
export function spentToWait({ count, perS }: CaLimit, seconds: number): number {
  return Math.max(0, count - 1 + (Math.max(0, seconds) * count) / perS);
}

/** @returns null when each bucket has a token, and the account its share of the orders */
export function longestWait(buckets: readonly Bucket[]): Wait | null {
  const orders = buckets.find(({ kind }) => kind === 'newOrders');
  const waits = buckets.map((bucket): Wait => {
    if (bucket.kind !== 'shareOfNewOrders') return { bucket, seconds: tokenAfterS(bucket) };
    return { bucket, seconds: orders === undefined ? 0 : shareAfterS(bucket.spent, orders) };
  });
  const longest = waits.reduce((one, other) => (other.seconds > one.seconds ? other : one));
  return longest.seconds > 0 ? longest : null;
}

function tokenAfterS({ spent, limit: { count, perS } }: Bucket): number {
  const missing = spent + 1 - count;
  return missing <= tolerance ? 0 : (missing * perS) / count;
}

/**
 * Many of our accounts share one account at the CA. Each may take while its recent usage is below what is left for
 * all others ("dynamic threshold", Choudhury and Hahne 1998). A single account gets half of the limit at once, two
 * greedy accounts a third each, n of them 1/(n+1) each, and a late account always finds something. Usage decays with
 * the limit's period as time constant, so that n accounts with constant demand get 1/n of the limit's rate each, and
 * the limit is fully used.
 */
function shareAfterS(had: number, orders: Bucket): number {
  const { count, perS } = orders.limit;
  const mayTakeAfter = (seconds: number) =>
    stillSpent('shareOfNewOrders', orders.limit, had, seconds) <
    count - stillSpent('newOrders', orders.limit, orders.spent, seconds);
  if (mayTakeAfter(0)) return 0;
  // By then its usage is below one token, and the bucket is full unless the CA requested a longer wait.
  let [tooSoon, late] = [0, perS * (1 + Math.log(1 + had))];
  while (late - tooSoon > 1e-3) {
    const middle = (tooSoon + late) / 2;
    if (mayTakeAfter(middle)) late = middle;
    else tooSoon = middle;
  }
  return late;
}
