export type KeyType = 'rsa' | 'ecdsa';
export type ApprovalMethod = 'dns' | 'http' | 'email';

/** What may be ordered under one name. A row of data: an operator changes it without touching code. */
export interface Product {
  readonly name: string;
  /** False: new orders and new issuances are refused with `product_unavailable`. */
  readonly available: boolean;
  /** The CSR must contain exactly the DNS names of the order, so a change of names makes it unusable. */
  readonly csrNamesEveryDnsName: boolean;
  readonly maxDnsNames: number;
  readonly emailApproval: boolean;
  /** Lifetime of a certificate, in days of 86,400 s. It belongs to the product and its CA; public CAs shorten it by dates. */
  readonly lifetimeDays: number;
  /** Put the first name that fits (64 characters, X.520 ub-common-name) into the subject, for clients of old. */
  readonly subjectCommonName: boolean;
  /** Which `CertificateAuthority` issues it. In the sandbox the built-in one always does. */
  readonly certificateAuthority: string;
}
