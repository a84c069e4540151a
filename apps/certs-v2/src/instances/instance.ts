import {
  type ApprovalWay,
  certificateState,
  type IssuanceError,
  type IssuanceState,
  type NameApproval,
} from '@certwright/issuance';
import type { StoredSan } from '@certwright/core-schema';

export const instanceStates = ['pending', 'active', 'expired', 'revoked', 'canceled'] as const;
export type InstanceState = (typeof instanceStates)[number];

/** The attempt behind an instance that was bought here. */
export interface Attempt {
  readonly issuanceId: string;
  readonly state: IssuanceState;
  readonly product: string;
  /** The common name first. */
  readonly dnsNames: readonly string[];
  /** Null: default SANs were used. */
  readonly sans: readonly StoredSan[] | null;
  /** As in the terms; redone approvals may differ. */
  readonly approvalWays: Readonly<Record<string, ApprovalWay>> | null;
  readonly approvals: readonly NameApproval[];
  readonly lastError: IssuanceError | null;
  /** PKCS#10, DER; null if not requested. */
  readonly csr: Buffer | null;
  /** Of the invoice that paid for it; null: it is free. */
  readonly invoiceNumber: string | null;
}

export interface InstanceCertificate {
  readonly certificateId: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly revokedAt: Date | null;
  /** SHA-256 over the DER certificate. */
  readonly sha256: Buffer;
  /** DER. */
  readonly leaf: Buffer;
  /** DER, without the root; null if not requested. */
  readonly chain: readonly Buffer[] | null;
  /** DER; empty: unknown; null if not requested. */
  readonly root: Buffer | null;
}

/** An issuance with the certificate that came of it, or a certificate that its owner brought along. */
export interface StoredInstance {
  /** Random, at most 48 bits. */
  readonly id: string;
  readonly planId: string;
  readonly accountId: string;
  /** When it was bought, or imported. */
  readonly openedAt: Date;
  /** SHA-256 over the DER SubjectPublicKeyInfo. */
  readonly spkiSha256: Buffer;
  /** Null: it was imported. */
  readonly attempt: Attempt | null;
  /** Null: there is none yet, or there never will be. */
  readonly certificate: InstanceCertificate | null;
}

const stateOfCertificate = { valid: 'active', expired: 'expired', revoked: 'revoked' } as const;

export function stateOf(
  {
    attempt,
    certificate,
  }: {
    readonly attempt: Pick<Attempt, 'state'> | null;
    readonly certificate: Pick<InstanceCertificate, 'notAfter' | 'revokedAt'> | null;
  },
  now: Date,
): InstanceState {
  if (certificate !== null) return stateOfCertificate[certificateState(certificate, now)];
  return attempt?.state === 'open' ? 'pending' : 'canceled';
}

/** "Imminently": a month, or a third of a lifetime that is shorter than three. */
const expiring = { leftMs: 30 * 86_400_000, leftShare: 1 / 3 };

/** Whether an active instance should be replaced soon. */
export function isExpiring(
  { notBefore, notAfter }: Pick<InstanceCertificate, 'notBefore' | 'notAfter'>,
  now: Date,
): boolean {
  const lifetimeMs = notAfter.getTime() - notBefore.getTime();
  return notAfter.getTime() - now.getTime() <= Math.min(expiring.leftMs, lifetimeMs * expiring.leftShare);
}

/** How one name of an instance is approved: the method that counts, else the one in the terms. */
export function wayOf({ approvals, approvalWays }: Attempt, dnsName: string): ApprovalWay | null {
  const own = approvals.find((approval) => approval.dnsName === dnsName)?.way;
  if (own !== undefined && own !== null) return own;
  return approvalWays !== null && Object.hasOwn(approvalWays, dnsName)
    ? (approvalWays[dnsName] ?? null)
    : null;
}
