import { DnsIntegrationsModule } from '@certwright/dns-integrations';
import { IdempotencyModule } from '@certwright/idempotency';
import { RunningProcess } from '@certwright/service';
import { Module } from '@nestjs/common';
import { OrdersConfig } from '../config';
import { DnsGateway, openGateway } from './dns-gateway';
import { DnsIntegrationsController, DnsProvidersController } from './dns-integrations.controller';
import { ReservedWork } from './reserved-work';
import { CreateIntegration } from './create-integration.use-case';
import { RetrieveIntegrations } from './retrieve-integrations.use-case';
import { DeleteIntegration } from './delete-integration.use-case';
import { ListZones } from './list-zones.use-case';
import { RetrieveProviders } from './retrieve-providers.use-case';

@Module({
  imports: [DnsIntegrationsModule, IdempotencyModule],
  controllers: [DnsProvidersController, DnsIntegrationsController],
  providers: [
    { provide: DnsGateway, inject: [OrdersConfig, RunningProcess], useFactory: openGateway },
    ReservedWork,
    CreateIntegration,
    RetrieveIntegrations,
    DeleteIntegration,
    ListZones,
    RetrieveProviders,
  ],
})
export class IntegrationsModule {}
