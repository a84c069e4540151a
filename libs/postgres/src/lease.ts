/**
 * A lease is a time-limited exclusive right to a row. A table with leases has two columns: `lease_token` grows with
 * every lease and fences off a late holder; `leased_until` is its end by the database's clock, null when released.
 * The fragments use clock_timestamp(), because now() is constant within a transaction.
 */
export const leases = {
  /** Condition: another process may take the lease. @param row alias of the table */
  isFree: (row?: string) =>
    `(${columnOf(row)}leased_until IS NULL OR ${columnOf(row)}leased_until <= clock_timestamp())`,

  /** Condition: the lease with this token is still valid. @param token placeholder or column */
  isHeld: (token: string, row?: string) =>
    `${columnOf(row)}lease_token = ${token} AND ${columnOf(row)}leased_until > clock_timestamp()`,

  /** Assignments that take the lease. @param forMs placeholder or number, ms */
  take: (forMs: string) => `lease_token = lease_token + 1, ${leases.extend(forMs)}`,

  /** Assignment that extends the lease; null releases it. @param forMs placeholder or number, ms, from now */
  extend: (forMs: string) => `leased_until = clock_timestamp() + ${forMs}::int * interval '1 millisecond'`,

  /** Assignment that releases the lease. */
  release: 'leased_until = NULL',
} as const;

const columnOf = (row: string | undefined) => (row === undefined ? '' : `${row}.`);

/** The lease ended, or another process took it: nothing was written, and the holder stops. */
export class LeaseLost extends Error {
  /** @param table of the leased row */
  constructor(
    readonly table: string,
    id: string | number,
    token: string,
  ) {
    super(`lease ${token} of ${table} ${id} is lost`);
    this.name = 'LeaseLost';
  }
}
