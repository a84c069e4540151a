import type { Parts } from '../parts';
import { AnnounceCurrentInstance } from './announce-current-instance.use-case';
import { announcementSweep } from './announcement-sweep';
import { CertificateNews } from './certificate-news';

export const announcements: Parts = {
  controllers: [],
  providers: [CertificateNews, AnnounceCurrentInstance, announcementSweep],
};
