import type { ApprovalWay, KeyType } from './product';

/** What one certificate is to contain: an immutable snapshot. A change of anything makes new terms. */
export interface Terms {
  readonly id: string;
  readonly planId: string;
  readonly product: string;
  /** Normal form (A-labels, lower case), no duplicates, in the caller's order. */
  readonly dnsNames: readonly string[];
  readonly keyType: KeyType;
  /** PKCS#10 DER, judged against these very terms before they were stored. */
  readonly csr: Uint8Array;
  /** SHA-256 over the DER SubjectPublicKeyInfo of `csr`. */
  readonly spkiSha256: Uint8Array;
  /** DNS name → the address that may approve it by email. */
  readonly approverEmails: Readonly<Record<string, string>>;
  /** DNS name → how it is to be approved; null: in whichever way is in place. */
  readonly approvalWays: Readonly<Record<string, ApprovalWay>> | null;
}
