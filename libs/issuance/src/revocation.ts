/** CRLReason (RFC 5280, 5.3.1) that a subscriber may use (Baseline Requirements 4.9.1.1, 7.2.2). */
export const revocationReasons = {
  unspecified: 0,
  keyCompromise: 1,
  affiliationChanged: 3,
  superseded: 4,
  cessationOfOperation: 5,
  privilegeWithdrawn: 9,
} as const;
export type RevocationReason = (typeof revocationReasons)[keyof typeof revocationReasons];

/**
 * @param value a name or number of RFC 5280; undefined for anything else, and for reasons that subscribers may not
 * use
 */
export function revocationReason(value: unknown): RevocationReason | undefined {
  return Object.entries(revocationReasons).find(([name, code]) => value === name || value === code)?.[1];
}

/**
 * The first reason stays, with one exception: a key compromise may be discovered later, and relying parties must know
 * (Baseline Requirements 7.2.2 lets a CA change the entry to keyCompromise).
 *
 * @returns the reason that holds after the request
 */
export function lastingReason(standing: number | null, requested: RevocationReason): number {
  if (standing === null) return requested;
  return requested === revocationReasons.keyCompromise ? requested : standing;
}

/**
 * Whether the certificate in use is replaced once it is revoked. `auto_renew` means that the order is to have a valid
 * certificate; only one reason means that it is no longer needed. With a compromised key the replacement is made if
 * the order has another key by now; else it fails at once and requests a new CSR.
 */
export function isReplacedAfterRevocation(
  plan: { readonly autoRenew: boolean; readonly paused: boolean; readonly closedAt: Date | null },
  reason: RevocationReason,
): boolean {
  return (
    plan.autoRenew &&
    !plan.paused &&
    plan.closedAt === null &&
    reason !== revocationReasons.cessationOfOperation
  );
}
