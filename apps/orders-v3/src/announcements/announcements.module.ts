import { Module } from '@nestjs/common';
import { DeliveryModule } from '@certwright/delivery';
import { OrdersModule } from '../orders/orders.module';
import { AnnounceCurrentCertificate } from './announce-current-certificate.use-case';
import { announcementSweep } from './announcement-sweep';

@Module({
  imports: [DeliveryModule, OrdersModule],
  providers: [AnnounceCurrentCertificate, announcementSweep],
})
export class AnnouncementsModule {}
