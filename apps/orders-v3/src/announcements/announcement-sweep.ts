import { AnnouncementRound, Announcements } from '@certwright/delivery';
import type { Provider } from '@nestjs/common';
import { AnnounceCurrentCertificate, owner } from './announce-current-certificate.use-case';

/** Announces what no nudge brought about. */
export const announcementSweep: Provider = {
  provide: AnnouncementRound,
  inject: [Announcements, AnnounceCurrentCertificate],
  useFactory: (announcements: Announcements, announce: AnnounceCurrentCertificate) =>
    new AnnouncementRound(announcements, owner, async (planId) => await announce.run(planId)),
};
