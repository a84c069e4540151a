import type { JobCause } from './jobs';

/** A row that is due and not leased. */
export interface DueRow {
  /** How often it was leased so far: the fencing token. */
  readonly leaseToken: string;
  /** Seconds since it became due. */
  readonly overdueS: number;
}

/** What a row says about the span that inserted it; absent while the process records no spans. */
export interface TracedRow {
  readonly traceparent?: string | null;
  /** Seconds since it was inserted. */
  readonly ageS?: number;
}

/** An issuance may wait for days. What is done for it later than this is a trace of its own, linked to the first one. */
const sameTraceS = 600;

/** The cause of a job that was made from a row: `{ cause }` or nothing. */
export function causeOfRow({ traceparent, ageS = 0 }: TracedRow): { readonly cause?: JobCause } {
  if (!traceparent) return {};
  return { cause: { traceparent, as: ageS < sameTraceS ? 'parent' : 'link' } };
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
