import { AnnouncementRound, Announcements, DeliveryModule } from '@certwright/delivery';
import { Module } from '@nestjs/common';
import { OrdersModule } from '../orders/orders.module';
import { AnnounceCurrentCertificate, owner } from './announce-current-certificate.use-case';
import { AnnouncementsProcessor } from './announcements.processor';

@Module({
  imports: [DeliveryModule, OrdersModule],
  providers: [
    AnnounceCurrentCertificate,
    AnnouncementsProcessor,
    {
      provide: AnnouncementRound,
      inject: [Announcements, AnnounceCurrentCertificate],
      useFactory: (announcements: Announcements, announce: AnnounceCurrentCertificate) =>
        new AnnouncementRound(announcements, owner, async (planId) => await announce.run(planId)),
    },
  ],
  exports: [AnnounceCurrentCertificate, AnnouncementRound],
})
export class AnnouncementsModule {}
