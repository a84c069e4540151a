import { CoreSchemaModule } from '@certwright/core-schema';
import { AccountsModule } from '@certwright/accounts';
import { ApprovalsModule } from '@certwright/approvals';
import { DeliveryModule } from '@certwright/delivery';
import { DnsIntegrationsModule } from '@certwright/dns-integrations';
import { IdempotencyModule } from '@certwright/idempotency';
import { OrderingModule } from '@certwright/ordering';
import { AddressGuard } from '@certwright/outbound';
import { type DynamicModule, Module } from '@nestjs/common';
import { AnnounceCurrentCertificate } from './announcements/announce-current-certificate.use-case';
import { announcementSweep } from './announcements/announcement-sweep';
import { CertificatesController } from './certificates/certificates.controller';
import { RetrieveCertificates } from './certificates/retrieve-certificates.use-case';
import { RevokeCertificate } from './certificates/revoke-certificate.use-case';
import { OrdersConfig } from './config';
import { BodyFingerprints } from './dns-integrations/body-fingerprints';
import { CreateIntegration } from './dns-integrations/create-integration.use-case';
import { DeleteIntegration } from './dns-integrations/delete-integration.use-case';
import { DnsGateway } from './dns-integrations/dns-gateway';
import { DnsIntegrationsController } from './dns-integrations/dns-integrations.controller';
import { DnsProvidersController } from './dns-integrations/dns-providers.controller';
import { ListZones } from './dns-integrations/list-zones.use-case';
import { ReservedWork } from './dns-integrations/reserved-work';
import { RetrieveIntegrations } from './dns-integrations/retrieve-integrations.use-case';
import { RetrieveProviders } from './dns-integrations/retrieve-providers.use-case';
import { DownloadController } from './download/download.controller';
import { DownloadCurrentCertificate } from './download/download-current-certificate.use-case';
import { CreateOrder } from './orders/create-order.use-case';
import { DeleteOrder } from './orders/delete-order.use-case';
import { IssuanceFactsReader } from './orders/issuance-facts';
import { OrderChanges } from './orders/order-changes';
import { OrderFactsReader } from './orders/order-facts';
import { OrdersController } from './orders/orders.controller';
import { OrdersRepository } from './orders/orders.repository';
import { OrderViews } from './orders/order-views';
import { RetrieveOrders } from './orders/retrieve-orders.use-case';
import { UpdateOrder } from './orders/update-order.use-case';
import { PublicationsController } from './publications/publications.controller';
import { PublicationsRepository } from './publications/publications.repository';
import { RetrievePublication } from './publications/retrieve-publication.use-case';
import { CreateWebhook } from './webhooks/create-webhook.use-case';
import { DeleteWebhook } from './webhooks/delete-webhook.use-case';
import { DeliveriesController } from './webhooks/deliveries.controller';
import { DeliveryViews } from './webhooks/delivery-views';
import { EndpointSecrets } from './webhooks/endpoint-secrets';
import { DeliverableUrls } from './webhooks/deliverable-urls';
import { RetrieveDeliveries } from './webhooks/retrieve-deliveries.use-case';
import { RetrieveWebhooks } from './webhooks/retrieve-webhooks.use-case';
import { RotateWebhookSecret } from './webhooks/rotate-webhook-secret.use-case';
import { SendDelivery } from './webhooks/send-delivery.use-case';
import { UpdateWebhook } from './webhooks/update-webhook.use-case';
import { WebhooksController } from './webhooks/webhooks.controller';
import { Addresses } from './wire/addresses';
import { OrderSurroundings } from './orders/order-json';

const orders = [
  OrdersRepository,
  OrderFactsReader,
  OrderChanges,
  IssuanceFactsReader,
  OrderViews,
  CreateOrder,
  UpdateOrder,
  RetrieveOrders,
  DeleteOrder,
];

const announcements = [AnnounceCurrentCertificate, announcementSweep];

const webhooks = [
  CreateWebhook,
  UpdateWebhook,
  RetrieveWebhooks,
  DeleteWebhook,
  RotateWebhookSecret,
  DeliveryViews,
  RetrieveDeliveries,
  SendDelivery,
];

const dnsIntegrations = [
  ReservedWork,
  CreateIntegration,
  RetrieveIntegrations,
  DeleteIntegration,
  ListZones,
  RetrieveProviders,
];

@Module({})
export class AppModule {
  static forRoot(config: OrdersConfig, gateway: DnsGateway): DynamicModule {
    const addresses = new Addresses(config.PUBLIC_URL);
    const surroundings = new OrderSurroundings(addresses, {
      approvalZone: config.APPROVAL_ZONE,
      approvalUrl: config.APPROVAL_URL,
    });
    const guard = new AddressGuard({ allowedNetworks: config.ALLOWED_NETWORKS });
    return {
      module: AppModule,
      imports: [
        CoreSchemaModule.forRoot({
          url: config.DATABASE_URL,
          applicationName: 'orders-v3',
          poolSize: config.DATABASE_POOL_SIZE,
          statementTimeoutMs: config.STATEMENT_TIMEOUT,
        }),
        AccountsModule,
        ApprovalsModule,
        DeliveryModule,
        DnsIntegrationsModule,
        IdempotencyModule,
        OrderingModule,
      ],
      controllers: [
        OrdersController,
        CertificatesController,
        WebhooksController,
        DeliveriesController,
        DnsProvidersController,
        DnsIntegrationsController,
        DownloadController,
        PublicationsController,
      ],
      providers: [
        { provide: OrdersConfig, useValue: config },
        { provide: Addresses, useValue: addresses },
        { provide: OrderSurroundings, useValue: surroundings },
        { provide: EndpointSecrets, useValue: new EndpointSecrets(config.SEALING_KEYS) },
        { provide: DeliverableUrls, useValue: new DeliverableUrls(guard) },
        { provide: DnsGateway, useValue: gateway },
        { provide: BodyFingerprints, useValue: new BodyFingerprints(config.SEALING_KEYS) },
        ...orders,
        ...announcements,
        ...webhooks,
        ...dnsIntegrations,
        RetrieveCertificates,
        RevokeCertificate,
        DownloadCurrentCertificate,
        PublicationsRepository,
        RetrievePublication,
      ],
    };
  }
}
