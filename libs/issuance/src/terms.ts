import type { ApprovalWay, KeyType } from './product';

/** Contents of one certificate: an immutable snapshot. Any change makes new terms. */
export interface Terms {
  readonly id: string;
  readonly planId: string;
  readonly product: string;
  /** Normal form (A-labels, lower case), no duplicates, in the caller's order. */
  readonly dnsNames: readonly string[];
  readonly keyType: KeyType;
  /** PKCS#10 DER, validated against these terms before it was stored. */
  readonly csr: Uint8Array;
  /** SHA-256 over the DER SubjectPublicKeyInfo of `csr`. */
  readonly spkiSha256: Uint8Array;
  /** DNS name → the address that may approve it by email. */
  readonly approverEmails: Readonly<Record<string, string>>;
  /** DNS name → how it is to be approved; null: in whichever way is in place. */
  readonly approvalWays: Readonly<Record<string, ApprovalWay>> | null;
}
