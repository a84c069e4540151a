import { RunningProcess } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { Histogram } from 'prom-client';

@Injectable()
export class AlertMetrics {
  private readonly delays: Histogram;

  constructor({ metrics: { registry } }: RunningProcess) {
    this.delays = new Histogram({
      name: 'certwright_monitoring_alert_delay_seconds',
      help: 'Time from when the index had an unknown certificate until its alert was enqueued',
      buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600],
      registers: [registry],
    });
  }

  /** @param discoveredAt null: it has no place in the index */
  alerted(discoveredAt: Date | null): void {
    if (discoveredAt !== null) this.delays.observe(Math.max(0, Date.now() - discoveredAt.getTime()) / 1_000);
  }
}
