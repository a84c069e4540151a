import type { JobQueues } from '@certwright/bullmq';
import { advanceIssuance } from '@certwright/jobs';
import type { DueIssuance, LeasedIssuances } from '@certwright/persistence';

/** Rows that one round nudges: oldest first, so the next round goes on with the rest. */
const batch = 1_000;

/** The clock of everything that waits, and the net under every nudge that was lost: a second, where 15 are promised. */
const restMs = 1_000;

/**
 * A nudge that was handed to a process which died before it took the lease blocks its id in Redis; after this time the
 * row is nudged under another id.
 */
const renudgeAfterS = 10;

/** Nudges what is due and in nobody's hands; an id that is still queued is dropped by Redis. @returns ms to the next round */
export async function sweepOnce(issuances: LeasedIssuances, jobs: JobQueues): Promise<number> {
  const due = await issuances.due(batch);
  await jobs.addAll(due.map((issuance) => advanceIssuance(issuance.id, nudgeRevision(issuance))));
  return restMs;
}

export function nudgeRevision({ leaseToken, overdueS }: DueIssuance): string {
  const round = Math.floor(overdueS / renudgeAfterS);
  return round <= 0 ? leaseToken : `${leaseToken}-${round}`;
}
