import type { JobQueues } from '@certwright/bullmq';
import { inTurn } from '@certwright/issuance';
import { advanceIssuance, causeOfRow, wakeUpRevision } from '@certwright/jobs';
import type { LeasedIssuances } from '@certwright/ordering';
import { maxWaitingIssuances } from './backlog';

/** Interval of everything that waits, and the recovery of lost wake-ups: a second, where 15 are promised. */
const restMs = 1_000;

/**
 * Interval while more is due than one batch for Redis: short enough that workers never idle (512 a second per
 * process).
 */
const backlogRestMs = 500;

/**
 * Enqueues what is due and not leased; an id that is still queued is dropped by Redis. The first of every account
 * runs before the second of any: with a backlog of any length, another account's order waits only for jobs in
 * progress.
 *
 * @returns ms to the next round
 */
export async function sweepOnce(
  issuances: LeasedIssuances,
  jobs: Pick<JobQueues, 'addAll'>,
): Promise<number> {
  const due = await issuances.due(maxWaitingIssuances);
  await jobs.addAll(
    inTurn(due).map(({ item, turn }) => ({
      ...advanceIssuance(item.id, wakeUpRevision(item)),
      priority: turn,
      ...causeOfRow(item),
    })),
  );
  return due.length < maxWaitingIssuances ? restMs : backlogRestMs;
}
