import { Module } from '@nestjs/common';
import { EndpointsModule } from '../endpoints/endpoints.module';
import { StatusModule } from '../status/status.module';
import { DeleteMonitoredDomain } from './delete-monitored-domain.use-case';
import { MonitoredDomainsController } from './monitored-domains.controller';
import { MonitoredDomains } from './monitored-domains.repository';
import { RetrieveMonitoredDomains } from './retrieve-monitored-domains.use-case';
import { SetMonitoredDomain } from './set-monitored-domain.use-case';

@Module({
  imports: [EndpointsModule, StatusModule],
  controllers: [MonitoredDomainsController],
  providers: [MonitoredDomains, SetMonitoredDomain, RetrieveMonitoredDomains, DeleteMonitoredDomain],
})
export class MonitoredDomainsModule {}
