/** The right to ask a host, for a while. */
export interface HostLease {
  readonly host: string;
  readonly token: string;
  /** Failures in a row before. */
  readonly failures: number;
}

/** Somebody else asks the host by now. */
export class HostLeaseLost extends Error {
  constructor(readonly lease: HostLease) {
    super(`the lease ${lease.token} of ${lease.host} is over`);
  }
}
