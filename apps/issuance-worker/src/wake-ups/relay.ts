import type { JobQueues } from '@certwright/bullmq';
import type { Job } from '@certwright/jobs';
import type { Outbox } from '@certwright/core-schema';
import { maxWaitingIssuances } from './backlog';

/** Rows that one transaction of the relay takes. */
const batch = 500;

/** Pause of the relay when there was nothing to do: the max delay that it adds to a wake-up, ms. */
const restMs = 50;

/** Same priority as the first issuance of every account in the sweep, and before all others. */
const firstPriority = 1;

type WakeUpQueues = Pick<JobQueues, 'addAll' | 'waiting'>;

/** Moves wake-ups from the outbox to Redis. @returns how long to wait before the next round, ms */
export async function relayOnce(outbox: Outbox, jobs: WakeUpQueues): Promise<number> {
  const sent = await outbox.relay(batch, async (wakeUps) => await jobs.addAll(await admitted(wakeUps, jobs)));
  return sent < batch ? restMs : 0;
}

/**
 * A wake-up of an issuance only speeds up its first run. Behind a backlog it would not, so it is dropped: the row is
 * due, and the sweep gives every account its turn.
 */
async function admitted(wakeUps: readonly Job[], jobs: WakeUpQueues): Promise<readonly Job[]> {
  const issuances = wakeUps.filter(({ name }) => name === 'advance-issuance');
  if (issuances.length === 0) return wakeUps;
  const room = Math.max(0, maxWaitingIssuances - (await jobs.waiting('issuance')));
  return [
    ...wakeUps.filter(({ name }) => name !== 'advance-issuance'),
    ...issuances.slice(0, room).map((job) => ({ ...job, priority: firstPriority })),
  ];
}
