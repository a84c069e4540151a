import { DeliveryModule } from '@certwright/delivery';
import { Rounds } from '@certwright/service';
import { Inject, Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { AlertsModule } from '../alerts/alerts.module';
import { Config } from '../config';
import { CtDatabaseModule } from '../ct-database/ct-database.module';
import { LeasedRounds } from '../tasks/leased-rounds';
import type { TaskLease } from '../tasks/task-leases';
import { TasksModule } from '../tasks/tasks.module';
import { CheckEndpoints } from './check-endpoints';
import { CheckLooks } from './check-looks';
import { DueEndpoints } from './due-endpoints.repository';
import { EndpointEvents } from './endpoint-events';
import { EndpointReports } from './endpoint-reports';
import { EndpointValve } from './endpoint-valve';
import { ReadIndexFacts } from './index-facts';
import { KnownCertificates } from './known-certificates';
import { StoreChecks } from './store-checks';
import { TrustedRoots } from './trusted-roots';

/** Wait while no result is there and nothing is due, ms. */
const idleMs = 250;

/** How often it is decided whether reports are held back, besides before each report, ms. */
const turnMs = 30_000;

/** The task `endpoints`. */
@Injectable()
class EndpointsTask implements OnModuleInit {
  private turnAtMs = 0;

  constructor(
    private readonly leased: LeasedRounds,
    @Inject(Rounds) private readonly rounds: Pick<Rounds, 'stopping'>,
    private readonly checks: CheckEndpoints,
    private readonly valve: EndpointValve,
    @Inject(Config) private readonly config: Pick<Config, 'LEASE_TIME' | 'ENDPOINT_CONFIRM_EVERY'>,
  ) {}

  onModuleInit(): void {
    this.leased.add(
      'endpoints',
      async (lease) => await this.round(lease),
      () => this.checks.forget(),
    );
  }

  /** Many steps: each round is a span, and may extend the lease, which is a write. */
  private async round(lease: TaskLease): Promise<number> {
    const { stopping } = this.rounds;
    const endMs = performance.now() + this.config.LEASE_TIME / 4;
    if (performance.now() >= this.turnAtMs) {
      const hasMore = await this.valve.turn(lease);
      const waitMs = hasMore ? 0 : Math.min(turnMs, this.config.ENDPOINT_CONFIRM_EVERY);
      this.turnAtMs = performance.now() + waitMs;
    }
    do {
      const hasMore = await this.checks.step(lease);
      // Aborted: the process stops.
      if (!hasMore) await delay(idleMs, undefined, { signal: stopping }).catch(() => undefined);
    } while (performance.now() < endMs && !stopping.aborted);
    return 0;
  }
}

/** Checks what the servers of monitored endpoints present. */
@Module({
  imports: [AlertsModule, CtDatabaseModule, DeliveryModule, TasksModule],
  providers: [
    CheckEndpoints,
    CheckLooks,
    DueEndpoints,
    EndpointEvents,
    EndpointReports,
    EndpointsTask,
    EndpointValve,
    KnownCertificates,
    ReadIndexFacts,
    StoreChecks,
    TrustedRoots,
  ],
})
export class EndpointsModule {}
