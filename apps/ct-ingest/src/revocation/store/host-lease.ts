/** The temporary right to send requests to a host. */
export interface HostLease {
  readonly host: string;
  readonly token: string;
  /** Previous consecutive failures. */
  readonly failures: number;
}
