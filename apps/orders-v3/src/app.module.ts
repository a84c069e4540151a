import { AccountsModule } from '@certwright/accounts';
import { CoreSchemaModule } from '@certwright/core-schema';
import { ProcessModule } from '@certwright/service';
import { type DynamicModule, Module } from '@nestjs/common';
import { AnnouncementsModule } from './announcements/announcements.module';
import { CertificatesModule } from './certificates/certificates.module';
import { OrdersConfig } from './config';
import { DnsGateway } from './dns-integrations/dns-gateway';
import { IntegrationsModule } from './dns-integrations/dns-integrations.module';
import { DownloadModule } from './download/download.module';
import { OrderLinks } from './orders/order-json';
import { OrdersModule } from './orders/orders.module';
import { PublicationsModule } from './publications/publications.module';
import { WebhooksModule } from './webhooks/webhooks.module';
import { Addresses } from './wire/addresses';

@Module({})
export class AppModule {
  static forRoot(config: OrdersConfig, gateway: DnsGateway): DynamicModule {
    const addresses = new Addresses(config.PUBLIC_URL);
    const links = new OrderLinks(addresses, {
      approvalZone: config.APPROVAL_ZONE,
      approvalUrl: config.APPROVAL_URL,
    });
    return {
      module: AppModule,
      imports: [
        CoreSchemaModule.forRoot({
          url: config.DATABASE_URL,
          applicationName: 'orders-v3',
          poolSize: config.DATABASE_POOL_SIZE,
          statementTimeoutMs: config.STATEMENT_TIMEOUT,
        }),
        ProcessModule.of([
          { provide: OrdersConfig, useValue: config },
          { provide: Addresses, useValue: addresses },
          { provide: OrderLinks, useValue: links },
          { provide: DnsGateway, useValue: gateway },
        ]),
        AccountsModule,
        OrdersModule,
        CertificatesModule,
        AnnouncementsModule,
        WebhooksModule,
        IntegrationsModule,
        DownloadModule,
        PublicationsModule,
      ],
    };
  }
}
