import { leases } from '@certwright/postgres';

/**
 * Condition: the issuance is open. Not `=`: a plan for a small table would read an index of all open issuances, and be kept
 * when there are many.
 */
export const isOpen = `issuance.state BETWEEN 'open' AND 'open'`;

/**
 * The right to write to one issuance: ends when it expires by the database's clock, or when another worker took it.
 */
export interface Lease {
  readonly issuanceId: string;
  /** The fencing token. */
  readonly token: string;
}

/** A write counts only under the newest lease, and only while it lasts (clock_timestamp, because now() is constant within a transaction). */
export const underLease = (id: string, token: string) =>
  `issuance.id = ${id} AND ${leases.isHeld(token, 'issuance')} AND ${isOpen}`;
