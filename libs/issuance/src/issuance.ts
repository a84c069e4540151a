import type { Outcome } from './outcome/outcome';
import type { ApprovalMethod, ApprovalWay } from './product';

/**
 * `open` → `issued` | `superseded` (newer terms took its place) | `canceled` (its plan was closed, or nobody approved
 * in time) | `failed` (a fault that repeating cannot mend). An issuance that left `open` never changes again.
 */
export const issuanceStates = ['open', 'issued', 'superseded', 'canceled', 'failed'] as const;
export type IssuanceState = (typeof issuanceStates)[number];

/** How far the approval of one name has come. Stored with the issuance: one writer, the holder of the lease. */
export interface NameApproval {
  readonly dnsName: string;
  readonly status: 'pending' | 'approved';
  /** What approved the name; null while pending. */
  readonly method: ApprovalMethod | null;
  /** What the last check found and where; null before the first check and once approved. */
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
  /** RFC 3339, UTC. Only while attempts end early because of passing faults of a CA that is not down: since the first. */
  readonly stalledSince?: string;
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
  /** The CA's own handle of this attempt, stored before anything is spent; with it a lost answer is resumed, never bought again. */
  readonly caReference: string | null;
  /** Failures in a row. */
  readonly failures: number;
  readonly lastError: IssuanceError | null;
  readonly openedAt: Date;
  /** Not to be looked at before. */
  readonly dueAt: Date;
  /** Names of the CAs that are down and for which it waits; null or absent: for none. */
  readonly waitsFor?: readonly string[] | null;
  /** When what was paid for ends: the certificate is not to be valid longer; null: as long as the product and its CA give. */
  readonly expiresBy: Date | null;
}
