import { Module } from '@nestjs/common';
import { DeleteMonitoredDomain } from './delete-monitored-domain.use-case';
import { MonitoredDomainsController } from './monitored-domains.controller';
import { MonitoredDomains } from './monitored-domains.repository';
import { RetrieveMonitoredDomains } from './retrieve-monitored-domains.use-case';
import { SetMonitoredDomain } from './set-monitored-domain.use-case';

@Module({
  controllers: [MonitoredDomainsController],
  providers: [MonitoredDomains, SetMonitoredDomain, RetrieveMonitoredDomains, DeleteMonitoredDomain],
})
export class MonitoredDomainsModule {}
