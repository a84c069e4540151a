/** A row that is due and not leased. */
export interface DueRow {
  /** How often it was leased so far: the fencing token. */
  readonly leaseToken: string;
  /** Seconds since it became due. */
  readonly overdueS: number;
}

/**
 * A job of a process that died before it took the lease blocks its id in Redis. After this time the row gets a
 * wake-up with another id.
 */
const repeatAfterS = 10;

/** The last part of a wake-up's id: the same for all wake-ups of one round, so that they are one job. */
export function wakeUpRevision({ leaseToken, overdueS }: DueRow): string {
  const round = Math.floor(overdueS / repeatAfterS);
  return round <= 0 ? leaseToken : `${leaseToken}-${round}`;
}
