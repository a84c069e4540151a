import { AnnouncementRound, Announcements } from '@certwright/delivery';
import type { Provider } from '@nestjs/common';
import { AnnounceCurrentInstance, owner } from './announce-current-instance.use-case';

/** Announces what no nudge brought about. */
export const announcementSweep: Provider = {
  provide: AnnouncementRound,
  inject: [Announcements, AnnounceCurrentInstance],
  useFactory: (announcements: Announcements, announce: AnnounceCurrentInstance) =>
    new AnnouncementRound(announcements, owner, async (planId) => await announce.run(planId)),
};
