/** The right to write to one issuance: gone when its time is up by the database's clock, or when somebody else took it. */
export interface Lease {
  readonly issuanceId: string;
  /** The fencing token. */
  readonly token: string;
}

/** The lease ran out or went to another worker; whoever sees this stops at once, since nothing it writes counts. */
export class LeaseLost extends Error {
  constructor({ issuanceId, token }: Lease) {
    super(`lease ${token} of issuance ${issuanceId} is lost`);
    this.name = 'LeaseLost';
  }
}

/** A write counts only under the newest lease, and only in its time (clock_timestamp: now() stands still in a transaction). */
export const underLease = (id: string, token: string) =>
  `issuance.id = ${id} AND issuance.lease_token = ${token} AND issuance.state = 'open'
   AND issuance.leased_until > clock_timestamp()`;
