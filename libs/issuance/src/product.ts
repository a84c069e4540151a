export type KeyType = 'rsa' | 'ecdsa';
export type ApprovalMethod = 'dns' | 'http' | 'email';

/** Approval method of one name, if the caller has set one: only this method is used. */
export interface ApprovalWay {
  readonly method: ApprovalMethod;
  /** Approver's address; null unless the method is `email`. */
  readonly approverEmail: string | null;
  /**
   * A parent name whose standing record approves it as well, where the CA validates at an Authorization Domain Name
   * (Baseline Requirements 1.6.1); null: only its own record does.
   */
  readonly recordAt: string | null;
}

/** Which CAs may issue a product, each with its profile (draft-ietf-acme-profiles); null: the CA's default. */
export interface ProductAuthority {
  readonly name: string;
  readonly profile: string | null;
}

/** A product that can be ordered by name. Stored as a row: operators change it without a release. */
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
  /**
   * In order of preference: the next one is used when one is down, limited or forbidden. Empty: only
   * `certificateAuthority`.
   */
  readonly authorities: readonly ProductAuthority[];
  /** Whether a web server rule approves its names. */
  readonly httpApproval: boolean;
  /** Accepted RSA moduli, bits. */
  readonly rsaSizes: readonly number[];
  /** Accepted curves: `P-256`, `P-384`. */
  readonly curves: readonly string[];
  /** Term of one purchase, in days of 86,400 s; null: not sold by time, certificates are simply replaced. */
  readonly termDays: number | null;
  /** Per term and name, in hundredths of the currency; see `billableNames`. */
  readonly priceCents: number;
  /** Per term and wildcard name. */
  readonly wildcardPriceCents: number;
  /** ISO 4217. */
  readonly currency: string;
}
