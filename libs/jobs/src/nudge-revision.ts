/** A row that is due and in nobody's hands. */
export interface DueRow {
  /** How often it was leased so far: the fencing token. */
  readonly leaseToken: string;
  /** Seconds since its time came. */
  readonly overdueS: number;
}

/**
 * A nudge that was handed to a process which died before it took the lease blocks its id in Redis; after this time the
 * row is nudged under another id.
 */
const renudgeAfterS = 10;

/** The last part of the id of a nudge: the same for every nudge of one look, so that they are one job. */
export function nudgeRevision({ leaseToken, overdueS }: DueRow): string {
  const round = Math.floor(overdueS / renudgeAfterS);
  return round <= 0 ? leaseToken : `${leaseToken}-${round}`;
}
