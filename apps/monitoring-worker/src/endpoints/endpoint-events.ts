import type { EndpointReportKind } from '@certwright/core-schema';
import type { CheckOutcome, FindingCode } from '@certwright/endpoint-checks';
import { RunningProcess } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { Counter, Gauge } from 'prom-client';
import { DataSource } from 'typeorm';
import type { Hold } from './endpoint-valve';

/** What operators see of the checks of endpoints. */
@Injectable()
export class EndpointEvents {
  private readonly checks: Counter<'outcome'>;
  private readonly findings: Counter<'finding'>;
  private readonly reports: Counter<'kind'>;
  private readonly log: RunningProcess['log'];

  constructor(database: DataSource, { log, metrics: { registry } }: RunningProcess) {
    this.log = log;
    this.checks = new Counter({
      name: 'certwright_endpoint_checks_total',
      help: 'Checks of endpoints, by outcome; unanswered: no prober responded',
      labelNames: ['outcome'],
      registers: [registry],
    });
    this.findings = new Counter({
      name: 'certwright_endpoint_findings_total',
      help: 'Findings of checks, also those that are not confirmed or were found before',
      labelNames: ['finding'],
      registers: [registry],
    });
    this.reports = new Counter({
      name: 'certwright_endpoint_reports_total',
      help: 'Reports to accounts about endpoints: problem or recovered',
      labelNames: ['kind'],
      registers: [registry],
    });
    new Gauge({
      name: 'certwright_endpoint_due_seconds',
      help: 'For how long the endpoint that waits longest is due to be checked',
      registers: [registry],
      async collect() {
        const [{ age }] = await database.query<[{ age: number }]>(
          `SELECT greatest(0, coalesce(extract(epoch FROM now() - min(check_due_at)), 0))::float8 AS age
           FROM monitored_endpoint`,
        );
        this.set(age);
      },
    });
    new Gauge({
      name: 'certwright_endpoint_reports_held',
      help: '1 while reports about endpoints are held back, because too many turned bad',
      registers: [registry],
      async collect() {
        const [{ held }] = await database.query<[{ held: number }]>(
          `SELECT count(*)::int AS held FROM endpoint_hold WHERE ended_at IS NULL`,
        );
        this.set(held);
      },
    });
  }

  checked(outcome: CheckOutcome | 'unanswered', found: readonly { readonly code: FindingCode }[]): void {
    this.checks.inc({ outcome });
    for (const { code } of found) this.findings.inc({ finding: code });
  }

  reported(kind: EndpointReportKind): void {
    this.reports.inc({ kind });
  }

  /** After the commit. */
  holdBegan({ countedFrom, checked, bad }: Hold): void {
    this.log.error(
      { counted_from: countedFrom, checked, bad },
      'ALARM: reports about endpoints are held back: too many endpoints turned bad',
    );
  }

  holdEnded(): void {
    this.log.warn('reports about endpoints are no longer held back');
  }
}
