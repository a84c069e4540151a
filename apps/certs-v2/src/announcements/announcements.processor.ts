import { Processor } from '@certwright/bullmq';
import { AnnouncementRound } from '@certwright/delivery';
import type { JobPayloads } from '@certwright/jobs';
import { Round, RunningProcess } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { AnnounceCurrentInstance } from './announce-current-instance.use-case';

/** Announces by job, and without: both lead to the same use case. Redis may be unavailable, at the start too. */
@Injectable()
@Processor('certs-v2-events')
export class AnnouncementsProcessor {
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
      this.running.log.error({ plan: planId, err: error }, 'announcement failed; retrying'),
    );
  }
}
