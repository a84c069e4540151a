import type { Outcome } from './outcome/outcome';
import type { ApprovalMethod, ApprovalWay } from './product';

/**
 * `open` → `issued` | `superseded` (by newer terms) | `canceled` (its plan was closed, or the approval timed out) |
 * `failed` (permanent error). An issuance that left `open` keeps its state; a certificate with a blocked key is still
 * collected.
 */
export type IssuanceState = 'open' | 'issued' | 'superseded' | 'canceled' | 'failed';

/** Approval state of one name. Stored with the issuance: only the holder of the lease writes it. */
export interface NameApproval {
  readonly dnsName: string;
  readonly status: 'pending' | 'approved';
  /** Method that approved the name; null while pending. */
  readonly method: ApprovalMethod | null;
  /** Result and place of the last check; null before the first check and once approved. */
  readonly problem: Outcome | null;
  /** RFC 3339, UTC; null before the first check. */
  readonly checkedAt: string | null;
  /** The only way that counts; null or absent: any. */
  readonly way?: ApprovalWay | null;
}

/** Whether an approval by this method counts for the name. */
export function mayBeApprovedBy({ way }: Pick<NameApproval, 'way'>, method: ApprovalMethod): boolean {
  return way === null || way === undefined || way.method === method;
}

export interface IssuanceError {
  readonly code: IssuanceErrorCode;
  /** Which name, and why. */
  readonly outcome: Outcome;
  /**
   * RFC 3339, UTC. Start of the current series of attempts that ended early because of transient errors of a CA that
   * is up.
   */
  readonly stalledSince?: string;
  /** It waits for a CA that is down, but is due at its own time, since another CA may issue: probes do not move that. */
  readonly keepsDueTime?: boolean;
}

export const issuanceErrorCodes = [
  'approval_timeout',
  'certificate_mismatch',
  'key_compromised',
  'product_unavailable',
  'ca_unavailable',
  'ca_rejected',
  'rate_limited',
  'caa_forbids',
  'authorization_failed',
  'names_not_allowed',
] as const;
export type IssuanceErrorCode = (typeof issuanceErrorCodes)[number];

/** One attempt at terms. */
export interface Issuance {
  readonly id: string;
  readonly planId: string;
  readonly accountId: string;
  readonly termsId: string;
  /** The plan's revision that it was opened for. */
  readonly revision: number;
  readonly state: IssuanceState;
  readonly approvals: readonly NameApproval[];
  /**
   * The CA's own handle of this attempt, stored before anything is spent; it resumes an attempt whose response was
   * lost, so nothing is bought twice.
   */
  readonly caReference: string | null;
  /** Failures in a row. */
  readonly failures: number;
  readonly lastError: IssuanceError | null;
  readonly openedAt: Date;
  /** Not due before this time. */
  readonly dueAt: Date;
  /** Names of the unavailable CAs it waits for; null or absent: none. */
  readonly waitsFor?: readonly string[] | null;
  /** End of the paid time, which bounds the certificate's validity; null: the product and its CA decide. */
  readonly expiresBy: Date | null;
}
