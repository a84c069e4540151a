import { watchTimeline } from '@certwright/core-schema';
import { Round, RunningProcess } from '@certwright/service';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { DataSource } from 'typeorm';

const everyMs = 5_000;
const alarmEveryMs = 60_000;

/** Recognizes a restored database before the first issuance, and reports that issuances are held. */
@Injectable()
export class IssuanceHoldWatch implements OnModuleInit {
  private readonly held: Gauge;
  private reportedMs = -Infinity;

  constructor(
    private readonly database: DataSource,
    private readonly running: RunningProcess,
  ) {
    this.held = new Gauge({
      name: 'certwright_issuances_held',
      help: '1: no issuance is advanced until "admin issuance release"',
      registers: [running.metrics.registry],
    });
  }

  async onModuleInit(): Promise<void> {
    await this.watch();
  }

  @Round('issuance-hold')
  async watch(): Promise<number> {
    const hold = await watchTimeline(this.database);
    this.held.set(hold === null ? 0 : 1);
    if (hold !== null && performance.now() - this.reportedMs >= alarmEveryMs) {
      this.reportedMs = performance.now();
      this.running.log.error(
        { since: hold.since, reason: hold.reason },
        'ALARM: issuances are held; continue with docs/runbooks/backup-and-restore.md',
      );
    }
    return everyMs;
  }
}
