/** The right to ask a host, for a while. */
export interface HostLease {
  readonly host: string;
  readonly token: string;
  /** Failures in a row before. */
  readonly failures: number;
}
