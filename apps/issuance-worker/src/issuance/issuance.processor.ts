import { JobQueues, Processor } from '@certwright/bullmq';
import type { JobPayloads } from '@certwright/jobs';
import { LeasedIssuances } from '@certwright/ordering';
import { Round } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { Sweep } from '../wake-ups/sweep';
import { AdvanceIssuance } from './advance-issuance';
import { PausableRuns } from './pausable-runs';

/** Advances issuances when they are due. */
@Injectable()
@Processor('issuance')
export class IssuanceProcessor {
  private readonly dueIssuances: Sweep;

  constructor(
    private readonly issuance: AdvanceIssuance,
    private readonly runs: PausableRuns,
    leased: LeasedIssuances,
    queues: JobQueues,
  ) {
    this.dueIssuances = new Sweep(leased, queues);
  }

  async 'advance-issuance'({ issuanceId }: JobPayloads['advance-issuance']): Promise<void> {
    await this.runs.start(async (pause) => await this.issuance.run(issuanceId, null, pause));
  }

  @Round('sweep')
  async sweep(): Promise<number> {
    return await this.dueIssuances.round();
  }
}
