import { DeliveryModule } from '@certwright/delivery';
import { Module } from '@nestjs/common';
import { ExpirationNotices } from './expiration-notices';

/** Mails about certificates that expire soon. */
@Module({ imports: [DeliveryModule], providers: [ExpirationNotices] })
export class NoticesModule {}
