import type { JobQueues } from '@certwright/bullmq';
import { keepIntegration, wakeUpRevision } from '@certwright/jobs';
import type { LeasedIntegrations } from '@certwright/dns-integrations';

/** Integrations that one round nudges; the rest of a backlog waits in PostgreSQL, where accounts take turns. */
const batch = 256;

/** The clock of everything that waits at integrations, ms. */
const restMs = 1_000;

/** Nudges integrations where something is due and that nobody holds. @returns ms to the next round */
export async function sweepIntegrations(integrations: LeasedIntegrations, jobs: JobQueues): Promise<number> {
  const due = await integrations.due(batch);
  await jobs.addAll(due.map((integration) => keepIntegration(integration.id, wakeUpRevision(integration))));
  return restMs;
}
