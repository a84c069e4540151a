import { Module } from '@nestjs/common';
import { DeliveryModule } from '@certwright/delivery';
import { LeasedDeliveries } from './leased-deliveries';

const providers = [LeasedDeliveries];

/** Webhook deliveries that are due. */
@Module({ imports: [DeliveryModule], providers, exports: providers })
export class WebhooksModule {}
