import { JobProcessorsModule, type JobsOptions, Processor } from '@certwright/bullmq';
import { AnnouncementRound } from '@certwright/delivery';
import type { JobPayloads } from '@certwright/jobs';
import { Round, RunningProcess } from '@certwright/service';
import { Injectable, Module } from '@nestjs/common';
import { CertsConfig } from '../config';
import { AnnounceCurrentInstance } from './announce-current-instance.use-case';
import { AnnouncementsModule } from './announcements.module';

/** Announces by job, and without: both lead to the same use case. Redis may be unavailable, at the start too. */
@Injectable()
@Processor('certs-v2-events')
class AnnouncementsProcessor {
  constructor(
    private readonly announce: AnnounceCurrentInstance,
    private readonly sweep: AnnouncementRound,
    private readonly running: RunningProcess,
  ) {}

  async 'current-instance-changed'({ planId }: JobPayloads['current-instance-changed']): Promise<void> {
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
      inject: [CertsConfig, RunningProcess],
      useFactory: ({ REDIS_URL }: CertsConfig, { log, readiness }: RunningProcess): JobsOptions => ({
        redisUrl: REDIS_URL,
        log,
        readiness,
      }),
    }),
  ],
  providers: [AnnouncementsProcessor],
})
export class AnnouncementsProcessorModule {}
