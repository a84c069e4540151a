import { AddressGuard } from '@certwright/outbound';
import { Module } from '@nestjs/common';
import { OrdersConfig } from '../config';
import { DeliverableUrls } from './deliverable-urls';
import { EndpointSecrets } from './endpoint-secrets';
import { DeliveryModule } from '@certwright/delivery';
import { IdempotencyModule } from '@certwright/idempotency';
import { OrdersModule } from '../orders/orders.module';
import { WebhooksController } from './webhooks.controller';
import { DeliveriesController } from './deliveries.controller';
import { CreateWebhook } from './create-webhook.use-case';
import { UpdateWebhook } from './update-webhook.use-case';
import { RetrieveWebhooks } from './retrieve-webhooks.use-case';
import { DeleteWebhook } from './delete-webhook.use-case';
import { RotateWebhookSecret } from './rotate-webhook-secret.use-case';
import { DeliveryViews } from './delivery-json';
import { RetrieveDeliveries } from './retrieve-deliveries.use-case';
import { SendDelivery } from './send-delivery.use-case';

@Module({
  imports: [DeliveryModule, IdempotencyModule, OrdersModule],
  controllers: [WebhooksController, DeliveriesController],
  providers: [
    {
      provide: EndpointSecrets,
      useFactory: (config: OrdersConfig) => new EndpointSecrets(config.SEALING_KEYS),
      inject: [OrdersConfig],
    },
    {
      provide: DeliverableUrls,
      useFactory: (config: OrdersConfig) =>
        new DeliverableUrls(new AddressGuard({ allowedNetworks: config.ALLOWED_NETWORKS })),
      inject: [OrdersConfig],
    },
    CreateWebhook,
    UpdateWebhook,
    RetrieveWebhooks,
    DeleteWebhook,
    RotateWebhookSecret,
    DeliveryViews,
    RetrieveDeliveries,
    SendDelivery,
  ],
})
export class WebhooksModule {}
