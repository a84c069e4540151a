import { Module } from '@nestjs/common';
import { AgentsModule } from './agents/agents.module';
import { AnnouncementsModule } from './announcements/announcements.module';
import { CertificatesModule } from './certificates/certificates.module';
import { ClustersModule } from './clusters/clusters.module';
import { IntegrationsModule } from './dns-integrations/dns-integrations.module';
import { DownloadModule } from './download/download.module';
import { InstallationsModule } from './installations/installations.module';
import { OrdersModule } from './orders/orders.module';
import { PublicationsModule } from './publications/publications.module';
import { WebhooksModule } from './webhooks/webhooks.module';
import { WireModule } from './wire/wire.module';

@Module({
  imports: [
    WireModule,
    OrdersModule,
    AgentsModule,
    CertificatesModule,
    ClustersModule,
    AnnouncementsModule,
    WebhooksModule,
    IntegrationsModule,
    InstallationsModule,
    DownloadModule,
    PublicationsModule,
  ],
})
export class AppModule {}
