import { runJobs } from '@certwright/bullmq';
import { AnnouncementRound } from '@certwright/delivery';
import { repeat, type RunningProcess } from '@certwright/service';
import type { INestApplicationContext } from '@nestjs/common';
import type { OrdersConfig } from '../config';
import { AnnounceCurrentCertificate } from './announce-current-certificate.use-case';

/** After a round that failed: the database is away, and asking a little later is soon enough. */
const afterErrorMs = 1_000;

/** Announces by nudge, and without: both lead to the same use case. Redis may be away, at the start too. */
export function runAnnouncements(
  app: INestApplicationContext,
  { REDIS_URL }: Pick<OrdersConfig, 'REDIS_URL'>,
  { log, opened }: Pick<RunningProcess, 'log' | 'opened'>,
): void {
  const announce = app.get(AnnounceCurrentCertificate);
  const nudges = runJobs(
    REDIS_URL,
    'orders-v3-events',
    { 'current-certificate-changed': async ({ planId }) => void (await announce.run(planId)) },
    {
      failed: (job, error) => log.error({ job, err: error }, 'job failed; the sweep brings it back'),
      error: (error) => log.warn({ err: error }, 'redis'),
    },
  );
  opened('announcements by nudge', async () => await nudges.close());

  const sweep = app.get(AnnouncementRound);
  const notAnnounced = (planId: string, error: unknown) =>
    log.error({ plan: planId, err: error }, 'not announced; its turn comes again');
  const repeating = repeat(async () => await sweep.run(notAnnounced), {
    afterErrorMs,
    onError: (error) => log.warn({ err: error }, 'sweep of announcements failed; it is repeated'),
  });
  opened('announcements by sweep', async () => await repeating.stop());
}
