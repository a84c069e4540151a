import { JobQueues, Processor } from '@certwright/bullmq';
import type { JobPayloads } from '@certwright/jobs';
import { LeasedIssuances } from '@certwright/ordering';
import { Round } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { sweepOnce } from '../wake-ups/sweep';
import { AdvanceIssuance } from './advance-issuance';
import { PausableRuns } from './pausable-runs';

/** Advances issuances when they are due. */
@Injectable()
@Processor('issuance')
export class IssuanceProcessor {
  constructor(
    private readonly issuance: AdvanceIssuance,
    private readonly runs: PausableRuns,
    private readonly leased: LeasedIssuances,
    private readonly queues: JobQueues,
  ) {}

  async 'advance-issuance'({ issuanceId }: JobPayloads['advance-issuance']): Promise<void> {
    await this.runs.start(async (pause) => await this.issuance.run(issuanceId, null, pause));
  }

  @Round('sweep')
  async sweep(): Promise<number> {
    return await sweepOnce(this.leased, this.queues);
  }
}
