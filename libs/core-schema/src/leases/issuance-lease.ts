import { leases } from '@certwright/postgres';

/**
 * Condition: the issuance is open. Not `=`: a plan for a small table would read an index of all open issuances, and be kept
 * when there are many.
 */
export const isOpen = `issuance.state BETWEEN 'open' AND 'open'`;

/**
 * Condition: it was closed when the CA may have issued a certificate with a blocked key, which is still to be collected
 * and revoked. Its state stays, and it has no time of its end until then. By the index issuance_strays.
 */
export const isToCollect = `
  NOT issuance.strays_checked AND issuance.ca_reference IS NOT NULL AND issuance.state <> 'open' AND issuance.closed_at = 'infinity'`;

/** Condition: it is open, or closed and still to be collected. */
export const isAdvanced = `(${isOpen} OR issuance.closed_at = 'infinity')`;

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
  `issuance.id = ${id} AND ${leases.isHeld(token, 'issuance')} AND ${isAdvanced}`;
