/** A name in a certificate and the monitored domain that decides about it. */
export interface ConcernedName {
  /** As in the certificate, in lower case. An entry that cannot be read has runs of labels instead. */
  readonly dnsName: string;
  /** In normal form; with a leading dot for a tree. */
  readonly monitoredDomain: string;
  /** The monitored domain is below an asterisk: `www.example.com` for `*.example.com`. */
  readonly isWildcard: boolean;
  /** The text is not a DNS name, and contains the monitored domain, a name below it, or a name above it. */
  readonly isOddName: boolean;
}

export interface ConcernedAccount {
  readonly account: string;
  /** In the order of the names in the certificate, then of the monitored domains. At least one. */
  readonly names: readonly ConcernedName[];
  /** False if the certificate has more names that concern the account. */
  readonly isComplete: boolean;
}

export interface CertificateMatch {
  /** Ordered by account, as strings. */
  readonly accounts: readonly ConcernedAccount[];
  /** False if names with unusual asterisks or odd names were too expensive to compare with all monitored domains. */
  readonly isComplete: boolean;
}
