import { Module } from '@nestjs/common';
import { AnnouncementRound, Announcements, DeliveryModule } from '@certwright/delivery';
import { CertObjectsModule } from '../cert-objects/cert-objects.module';
import { AnnounceCurrentInstance, CurrentInstanceMessage, owner } from './announce-current-instance.use-case';
import { AnnouncementsProcessor } from './announcements.processor';

@Module({
  imports: [DeliveryModule, CertObjectsModule],
  providers: [
    CurrentInstanceMessage,
    AnnounceCurrentInstance,
    AnnouncementsProcessor,
    {
      // Announces what no job did.
      provide: AnnouncementRound,
      inject: [Announcements, AnnounceCurrentInstance],
      useFactory: (announcements: Announcements, announce: AnnounceCurrentInstance) =>
        new AnnouncementRound(announcements, owner, async (planId) => await announce.run(planId)),
    },
  ],
  exports: [AnnounceCurrentInstance, AnnouncementRound],
})
export class AnnouncementsModule {}
