import type { JobQueues } from '@certwright/bullmq';
import { inTurn } from '@certwright/issuance';
import { advanceIssuance, wakeUpRevision } from '@certwright/jobs';
import type { LeasedIssuances } from '@certwright/ordering';
import { mostWaitingIssuances } from './backlog';

/** The clock of everything that waits, and the net under every nudge that was lost: a second, where 15 are promised. */
const restMs = 1_000;

/** While there is more than Redis is given at once: soon enough that workers never run dry (512 a second, each process). */
const backlogRestMs = 500;

/**
 * Nudges what is due and in nobody's hands; an id that is still queued is dropped by Redis. The first of every account
 * runs before the second of any: however long one's backlog is, another's order waits for the jobs that run already.
 *
 * @returns ms to the next round
 */
export async function sweepOnce(
  issuances: LeasedIssuances,
  jobs: Pick<JobQueues, 'addAll'>,
): Promise<number> {
  const due = await issuances.due(mostWaitingIssuances);
  await jobs.addAll(
    inTurn(due).map(({ item, turn }) => ({
      ...advanceIssuance(item.id, wakeUpRevision(item)),
      priority: turn,
    })),
  );
  return due.length < mostWaitingIssuances ? restMs : backlogRestMs;
}
