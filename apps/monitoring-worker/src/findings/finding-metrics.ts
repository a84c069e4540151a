import { RunningProcess } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';
import type { Classification } from './classify';

/** Findings, as they are decided. */
@Injectable()
export class FindingMetrics {
  private readonly findings: Counter<'state' | 'reason'>;
  private readonly throttled: Counter;

  constructor({ metrics: { registry } }: RunningProcess) {
    this.findings = new Counter({
      name: 'certwright_monitoring_findings_total',
      help: 'Certificates that concern accounts, by state and reason; again when the state of one changes',
      labelNames: ['state', 'reason'],
      registers: [registry],
    });
    this.throttled = new Counter({
      name: 'certwright_monitoring_throttled_total',
      help: 'Certificates that were only counted because of the limit of their account',
      registers: [registry],
    });
  }

  decided(classifications: readonly Pick<Classification, 'state' | 'reason'>[]): void {
    for (const { state, reason } of classifications) this.findings.inc({ state, reason });
  }

  countThrottled(certificates: number): void {
    this.throttled.inc(certificates);
  }
}
