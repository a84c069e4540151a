import type { Job } from '@certwright/jobs';

/** A row that is due and in nobody's hands. */
export interface DueRow {
  readonly id: string;
  readonly leaseToken: string;
  /** Seconds since its time came. */
  readonly overdueS: number;
}

/** The clock of everything that waits, and the net under every nudge that was lost, ms. */
const restMs = 1_000;

/**
 * A nudge that was handed to a process which died before it took the lease blocks its id in Redis; after this time the
 * row is nudged under another id.
 */
const renudgeAfterS = 10;

/** Nudges what is due and in nobody's hands; an id that is still queued is dropped by Redis. @returns ms to the next round */
export async function sweepOnce(
  due: () => Promise<readonly DueRow[]>,
  job: (id: string, revision: string) => Job,
  queues: { addAll(jobs: readonly Job[]): Promise<void> },
): Promise<number> {
  const rows = await due();
  await queues.addAll(rows.map((row) => job(row.id, nudgeRevision(row))));
  return restMs;
}

export function nudgeRevision({ leaseToken, overdueS }: DueRow): string {
  const round = Math.floor(overdueS / renudgeAfterS);
  return round <= 0 ? leaseToken : `${leaseToken}-${round}`;
}
