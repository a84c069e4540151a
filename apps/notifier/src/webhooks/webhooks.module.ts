import { Module } from '@nestjs/common';
import { DeliveryModule } from '@certwright/delivery';
import { DeliverWebhook } from './deliver-webhook';
import { DeliveryDispatcher } from './delivery-dispatcher';
import { LeasedDeliveries } from './leased-deliveries';
import { PostClient } from './post.client';
import { ObservedWebhooks, WebhookEvents } from './webhook-events';
import { WebhooksProcessor } from './webhooks.processor';

/** Sends webhooks. */
@Module({
  imports: [DeliveryModule],
  providers: [
    DeliverWebhook,
    DeliveryDispatcher,
    LeasedDeliveries,
    PostClient,
    WebhooksProcessor,
    { provide: WebhookEvents, useClass: ObservedWebhooks },
  ],
})
export class WebhooksModule {}
