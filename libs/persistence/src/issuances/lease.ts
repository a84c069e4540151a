import type { Issuance, Plan, Product, Terms } from '@certwright/issuance';

/** The right to write to one issuance: gone when its time is up by the database's clock, or when somebody else took it. */
export interface Lease {
  readonly issuanceId: string;
  /** The fencing token. */
  readonly token: string;
}

/** All that deciding about one issuance takes, read in the statement that leased it. */
export interface LeasedWork {
  readonly lease: Lease;
  readonly issuance: Issuance;
  readonly terms: Terms;
  readonly plan: Pick<Plan, 'paused' | 'closedAt'>;
  readonly product: Product;
  /** The key of the terms stands on the list of blocked keys. */
  readonly keyBlocked: boolean;
  /** Name without `*.` → the label its standing record points to. */
  readonly delegationLabels: ReadonlyMap<string, string>;
  /** The account has, or had, an integration: what it covers is worth a look. */
  readonly hasIntegrations: boolean;
  /** End of the valid certificate in use, if there is one. */
  readonly validUntil: Date | null;
  /** The database's clock. */
  readonly now: Date;
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
