import { DeliveryModule } from '@certwright/delivery';
import { ProbeQuestions } from '@certwright/redis';
import { RunningProcess } from '@certwright/service';
import { Module } from '@nestjs/common';
import { Config } from '../config';
import { CtDatabaseModule } from '../ct-database/ct-database.module';
import { FindingsModule } from '../findings/findings.module';
import { TasksModule } from '../tasks/tasks.module';
import { AlertMetrics } from './alert-metrics';
import { Alerts } from './alerts';
import { DueAlerts } from './due-alerts.repository';
import { IndexedIssuances } from './indexed-issuances';
import { PublishedCaa } from './published-caa';

@Module({
  imports: [CtDatabaseModule, DeliveryModule, FindingsModule, TasksModule],
  providers: [
    AlertMetrics,
    Alerts,
    DueAlerts,
    IndexedIssuances,
    {
      provide: ProbeQuestions,
      inject: [Config, RunningProcess],
      useFactory: ({ REDIS_URL }: Config, { name, log }: RunningProcess) =>
        new ProbeQuestions(REDIS_URL, { name: `${name}-probes`, log }),
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
