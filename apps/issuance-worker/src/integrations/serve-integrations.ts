import { type JobQueues, runJobs } from '@certwright/bullmq';
import type { GatewayClient } from '@certwright/gateway-client';
import { ApprovalRecords, IssuanceWakeUps } from '@certwright/approvals';
import { DnsIntegrations, LeasedIntegrations } from '@certwright/dns-integrations';
import { LeasedRecords } from './leased-records';
import type { RunningProcess } from '@certwright/service';
import type { INestApplicationContext } from '@nestjs/common';
import type { NameServers } from '../name-servers/name-servers';
import type { Config } from '../config';
import { KeepIntegration } from './keep-integration';
import { observeIntegrations } from './observe-integrations';
import { sweepIntegrations } from './sweep-integrations';

export interface IntegrationServices {
  readonly gateway: GatewayClient;
  readonly jobs: JobQueues;
  readonly nameServers: NameServers;
}

const forgettingRestMs = 10 * 60 * 1_000;
/** Rows that one statement removes. */
const forgettingBatch = 1_000;

/** Takes integrations from their queue until the process stops. @returns the rounds that belong to it */
export function serveIntegrations(
  config: Pick<Config, 'REDIS_URL'>,
  running: RunningProcess,
  context: INestApplicationContext,
  { gateway, jobs, nameServers }: IntegrationServices,
): Readonly<Record<string, () => Promise<number>>> {
  const { log, opened } = running;
  const integrations = context.get(LeasedIntegrations);
  const records = context.get(ApprovalRecords);
  const known = context.get(DnsIntegrations);
  const stopping = new AbortController();
  const keep = new KeepIntegration({
    gateway,
    integrations,
    nameServers,
    zones: known,
    records: context.get(LeasedRecords),
    wakeUps: context.get(IssuanceWakeUps),
    events: observeIntegrations(running, records),
    stopping: stopping.signal,
  });
  const runner = runJobs(
    config.REDIS_URL,
    'dns-integrations',
    { 'keep-integration': async ({ integrationId }) => await keep.run(integrationId) },
    {
      failed: (job, error) => log.error({ job, err: error }, 'job failed; its row brings it back'),
      error: (error) => log.warn({ err: error }, 'redis'),
    },
  );
  opened('integration jobs', async () => {
    stopping.abort();
    await runner.close();
  });
  return {
    integrations: async () => await sweepIntegrations(integrations, jobs),
    forgetting: async () => {
      await known.forgetDeleted();
      const forgotten = await records.forgetRemoved(forgettingBatch);
      return forgotten < forgettingBatch ? forgettingRestMs : 0;
    },
  };
}
