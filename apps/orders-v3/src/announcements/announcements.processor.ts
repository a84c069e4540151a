import { JobProcessorsModule, type JobsOptions, Processor } from '@certwright/bullmq';
import { AnnouncementRound } from '@certwright/delivery';
import type { JobPayloads } from '@certwright/jobs';
import { Round, RunningProcess } from '@certwright/service';
import { Injectable, Module } from '@nestjs/common';
import { OrdersConfig } from '../config';
import { AnnounceCurrentCertificate } from './announce-current-certificate.use-case';
import { AnnouncementsModule } from './announcements.module';

/** Announces by job, and without: both lead to the same use case. Redis may be unavailable, at the start too. */
@Injectable()
@Processor('orders-v3-events')
class AnnouncementsProcessor {
  constructor(
    private readonly announce: AnnounceCurrentCertificate,
    private readonly sweep: AnnouncementRound,
    private readonly running: RunningProcess,
  ) {}

  async 'current-certificate-changed'({ planId }: JobPayloads['current-certificate-changed']): Promise<void> {
    await this.announce.run(planId);
  }

  @Round('announcements')
  async announceRest(): Promise<number> {
    return await this.sweep.run((planId, error) =>
      this.running.log.error({ plan: planId, err: error }, 'not announced; its turn comes again'),
    );
  }
}

/** Runs announcements in the process. */
@Module({
  imports: [
    AnnouncementsModule,
    JobProcessorsModule.forRootAsync({
      inject: [OrdersConfig, RunningProcess],
      useFactory: ({ REDIS_URL }: OrdersConfig, { log, readiness }: RunningProcess): JobsOptions => ({
        redisUrl: REDIS_URL,
        log,
        readiness,
      }),
    }),
  ],
  providers: [AnnouncementsProcessor],
})
export class AnnouncementsProcessorModule {}
