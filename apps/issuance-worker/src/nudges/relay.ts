import type { JobQueues } from '@certwright/bullmq';
import type { Outbox } from '@certwright/persistence';

/** Rows that one transaction of the relay takes. */
const batch = 500;

/** How long the relay rests when there was nothing to do: the greatest delay that it adds to a nudge, ms. */
const restMs = 50;

/** Moves nudges from the outbox to Redis. @returns how long to wait before the next round, ms */
export async function relayOnce(outbox: Outbox, jobs: JobQueues): Promise<number> {
  const sent = await outbox.relay(batch, async (nudges) => await jobs.addAll(nudges));
  return sent < batch ? restMs : 0;
}
