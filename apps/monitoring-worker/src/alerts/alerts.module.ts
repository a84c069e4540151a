import { DeliveryModule } from '@certwright/delivery';
import { ProbeQuestions } from '@certwright/redis';
import { RedisAccess } from '@certwright/redis-client';
import { Rounds, RunningProcess } from '@certwright/service';
import { Inject, Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { Config } from '../config';
import { CtDatabaseModule } from '../ct-database/ct-database.module';
import { AlertWakeUp } from '../findings/alert-wake-up';
import { FindingsModule } from '../findings/findings.module';
import { LeasedRounds } from '../tasks/leased-rounds';
import type { TaskLease } from '../tasks/task-leases';
import { TasksModule } from '../tasks/tasks.module';
import { AlertMetrics } from './alert-metrics';
import { DueAlerts } from './due-alerts.repository';
import { IndexedIssuances } from './indexed-issuances';
import { PrepareAlerts } from './prepare-alerts';
import { PublishedCaa } from './published-caa';
import { SendAlerts } from './send-alerts';

/** How often findings of other processes are looked for, ms. */
const pollMs = 250;

/** The task `alerts`: notifies accounts of unknown certificates. */
@Injectable()
class AlertsTask implements OnModuleInit {
  constructor(
    private readonly leased: LeasedRounds,
    @Inject(Rounds) private readonly rounds: Pick<Rounds, 'stopping'>,
    private readonly wakeUp: AlertWakeUp,
    private readonly alerts: SendAlerts,
    @Inject(Config) private readonly config: Pick<Config, 'LEASE_TIME'>,
  ) {}

  onModuleInit(): void {
    this.leased.add('alerts', async (lease) => await this.round(lease));
  }

  /** Polls within the round: the lease is extended less often. */
  private async round(lease: TaskLease): Promise<number> {
    const endMs = performance.now() + this.config.LEASE_TIME / 3;
    while (performance.now() < endMs && !this.rounds.stopping.aborted) {
      if ((await this.alerts.send(lease)) > 0) return 0;
      await this.wakeUp.wait(pollMs, this.rounds.stopping);
    }
    return 0;
  }
}

@Module({
  imports: [CtDatabaseModule, DeliveryModule, FindingsModule, TasksModule],
  providers: [
    AlertMetrics,
    AlertsTask,
    DueAlerts,
    IndexedIssuances,
    PrepareAlerts,
    SendAlerts,
    {
      provide: ProbeQuestions,
      inject: [RedisAccess, RunningProcess],
      useFactory: (redis: RedisAccess, { name, log }: RunningProcess) =>
        new ProbeQuestions(redis, { name: `${name}-probes`, log }),
    },
    {
      provide: PublishedCaa,
      inject: [ProbeQuestions],
      useFactory: (prober: ProbeQuestions) => new PublishedCaa(prober),
    },
  ],
  exports: [ProbeQuestions],
})
export class AlertsModule {}
