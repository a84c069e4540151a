import { ApprovalRecords, ApprovalsModule, IssuanceWakeUps } from '@certwright/approvals';
import { JobQueues } from '@certwright/bullmq';
import { DnsIntegrations, DnsIntegrationsModule, LeasedIntegrations } from '@certwright/dns-integrations';
import { GatewayClient } from '@certwright/gateway-client';
import { RunningProcess } from '@certwright/service';
import { Module, type OnModuleDestroy } from '@nestjs/common';
import { NameServers } from '../name-servers/name-servers';
import { NameServersModule } from '../name-servers/name-servers.module';
import { GatewayModule } from '../gateway/gateway.module';
import { IntegrationsProcessor } from './integrations.processor';
import { KeepIntegration } from './keep-integration';
import { LeasedRecords } from './leased-records';
import { observeIntegrations } from './observe-integrations';

/** Aborts when the process stops: no new work is started at an integration. */
class Stopping extends AbortController implements OnModuleDestroy {
  onModuleDestroy(): void {
    this.abort();
  }
}

/** Records that are published through DNS integrations. Without a gateway, `IntegrationsProcessor` is null. */
@Module({
  imports: [ApprovalsModule, DnsIntegrationsModule, GatewayModule, NameServersModule],
  providers: [
    LeasedRecords,
    Stopping,
    {
      provide: KeepIntegration,
      inject: [
        GatewayClient,
        LeasedIntegrations,
        NameServers,
        DnsIntegrations,
        LeasedRecords,
        IssuanceWakeUps,
        ApprovalRecords,
        RunningProcess,
        Stopping,
      ],
      useFactory: (
        gateway: GatewayClient | null,
        integrations: LeasedIntegrations,
        nameServers: NameServers,
        zones: DnsIntegrations,
        records: LeasedRecords,
        wakeUps: IssuanceWakeUps,
        approvalRecords: ApprovalRecords,
        running: RunningProcess,
        { signal: stopping }: Stopping,
      ) => {
        if (gateway === null) return null;
        const events = observeIntegrations(running, approvalRecords);
        const stored = { integrations, zones, records, wakeUps };
        return new KeepIntegration({ gateway, nameServers, events, stopping, ...stored });
      },
    },
    {
      provide: IntegrationsProcessor,
      inject: [KeepIntegration, LeasedIntegrations, JobQueues, DnsIntegrations, ApprovalRecords],
      useFactory: (
        keep: KeepIntegration | null,
        ...dependencies: [LeasedIntegrations, JobQueues, DnsIntegrations, ApprovalRecords]
      ) => keep && new IntegrationsProcessor(keep, ...dependencies),
    },
  ],
})
export class IntegrationsModule {}
