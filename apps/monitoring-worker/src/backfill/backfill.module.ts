import { DeliveryModule } from '@certwright/delivery';
import { Rounds, RunningProcess } from '@certwright/service';
import { Inject, Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { Config } from '../config';
import { CtDatabaseModule } from '../ct-database/ct-database.module';
import { FindingsModule } from '../findings/findings.module';
import { LeasedRounds } from '../tasks/leased-rounds';
import type { TaskLease } from '../tasks/task-leases';
import { TasksModule } from '../tasks/tasks.module';
import { BackfillEvents, observeBackfills } from './backfill-events';
import { BackfillMails } from './backfill-mails';
import { Backfills } from './backfills.repository';
import { BackfillPages, BackfillTurns, RunBackfills } from './run-backfills';

/** Wait while no backfill is open, ms. */
const idleMs = 1_000;

/** The task `backfill`. */
@Injectable()
class BackfillTask implements OnModuleInit {
  constructor(
    private readonly leased: LeasedRounds,
    private readonly rounds: Rounds,
    private readonly turns: BackfillTurns,
    @Inject(Config) private readonly config: Pick<Config, 'LEASE_TIME'>,
  ) {}

  onModuleInit(): void {
    this.leased.add(
      'backfill',
      async (lease) => await this.round(lease),
      () => this.turns.forget(),
    );
  }

  /** Several pages: each round is a span, and may extend the lease, which is a write. */
  private async round(lease: TaskLease): Promise<number> {
    const untilMs = performance.now() + Math.min(2_000, this.config.LEASE_TIME / 4);
    while (await this.turns.next(lease))
      if (performance.now() >= untilMs || this.rounds.stopping.aborted) return 0;
    return idleMs;
  }
}

/** Matches what the index had before a domain was monitored. */
@Module({
  imports: [CtDatabaseModule, DeliveryModule, FindingsModule, TasksModule],
  providers: [
    Backfills,
    BackfillMails,
    BackfillPages,
    BackfillTask,
    BackfillTurns,
    {
      provide: BackfillEvents,
      inject: [RunningProcess, Backfills],
      useFactory: observeBackfills,
    },
    RunBackfills,
  ],
})
export class BackfillModule {}
