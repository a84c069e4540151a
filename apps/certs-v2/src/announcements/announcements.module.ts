import { Module } from '@nestjs/common';
import { DeliveryModule } from '@certwright/delivery';
import { CertObjectsModule } from '../cert-objects/cert-objects.module';
import { AnnounceCurrentInstance } from './announce-current-instance.use-case';
import { announcementSweep } from './announcement-sweep';
import { CertificateNews } from './certificate-news';

@Module({
  imports: [DeliveryModule, CertObjectsModule],
  providers: [CertificateNews, AnnounceCurrentInstance, announcementSweep],
})
export class AnnouncementsModule {}
