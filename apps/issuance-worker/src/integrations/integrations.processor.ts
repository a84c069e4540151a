import { JobQueues, Processor } from '@certwright/bullmq';
import { ApprovalRecords } from '@certwright/approvals';
import { DnsIntegrations, LeasedIntegrations } from '@certwright/dns-integrations';
import { inTurn } from '@certwright/issuance';
import { type JobPayloads, keepIntegration, wakeUpRevision } from '@certwright/jobs';
import { Round } from '@certwright/service';
import { KeepIntegration } from './keep-integration';

/** Integrations of one sweep; the rest of a backlog waits in PostgreSQL, where accounts take turns. */
const sweepBatch = 256;
/** Between two sweeps, ms. */
const sweepEveryMs = 1_000;

const forgetEveryMs = 10 * 60 * 1_000;
/** Rows that one statement removes. */
const forgetBatch = 1_000;

/** Processes due work at integrations. */
@Processor('dns-integrations')
export class IntegrationsProcessor {
  constructor(
    private readonly keep: KeepIntegration,
    private readonly leased: LeasedIntegrations,
    private readonly queues: JobQueues,
    private readonly integrations: DnsIntegrations,
    private readonly records: ApprovalRecords,
  ) {}

  async 'keep-integration'({ integrationId }: JobPayloads['keep-integration']): Promise<void> {
    await this.keep.run(integrationId);
  }

  /** Enqueues integrations that have due work and are not leased: the first of every account runs before the second of any. */
  @Round('integrations')
  async sweep(): Promise<number> {
    const due = await this.leased.due(sweepBatch);
    await this.queues.addAll(
      inTurn(due).map(({ item, turn }) => ({
        ...keepIntegration(item.id, wakeUpRevision(item)),
        priority: turn,
      })),
    );
    return sweepEveryMs;
  }

  @Round('forgetting')
  async forget(): Promise<number> {
    await this.integrations.forgetDeleted();
    const forgotten = await this.records.forgetRemoved(forgetBatch);
    return forgotten < forgetBatch ? forgetEveryMs : 0;
  }
}
