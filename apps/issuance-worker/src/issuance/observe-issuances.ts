import type { JobQueues } from '@certwright/bullmq';
import type { Outbox } from '@certwright/core-schema';
import type { IssuanceStatisticsReader } from './issuance-statistics';
import type { IssuanceNews } from '@certwright/redis';
import type { RunningProcess } from '@certwright/service';
import { Counter, Gauge, Histogram } from 'prom-client';
import type { IssuanceEvents } from './issuance-events';

/** From an approval that existed already to one that a person gave a day later. */
const issuanceBucketsS = [0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 3_600, 86_400];

/** Reads the backlog. */
export interface Waiting {
  readonly statistics: IssuanceStatisticsReader;
  readonly outbox: Outbox;
  readonly jobs: JobQueues;
}

/** Log lines and metrics of issuance events, and wake-ups for waiting callers. */
export function observeIssuances(
  { log, metrics: { registry } }: RunningProcess,
  waiting: Waiting,
  news: Pick<IssuanceNews, 'publish'>,
): IssuanceEvents {
  gaugeWhatWaits(waiting, registry);
  const registers = [registry];
  const attached = new Counter({
    name: 'certwright_certificates_attached_total',
    help: 'Certificates attached',
    registers,
  });
  const failures = new Counter({
    name: 'certwright_issuance_failures_total',
    help: 'Failed attempts, by error; final ones need an operator',
    labelNames: ['code', 'final'],
    registers,
  });
  const lost = new Counter({
    name: 'certwright_leases_lost_total',
    help: 'Leases lost to another worker',
    registers,
  });
  const seconds = new Histogram({
    name: 'certwright_issuance_seconds',
    help: 'From the opening of an issuance to its attached certificate',
    buckets: issuanceBucketsS,
    registers,
  });
  return {
    changed: ({ id }) => news.publish(id),
    attached: ({ id, planId, accountId, openedAt }, { certificateId, serialNumber }) => {
      attached.inc();
      seconds.observe((Date.now() - openedAt.getTime()) / 1_000);
      log.info(
        { issuance: id, plan: planId, account: accountId, certificate: certificateId, serialNumber },
        'attached',
      );
    },
    failed: ({ id, planId, accountId }, { code, outcome }, final) => {
      failures.inc({ code, final: String(final) });
      const members = { issuance: id, plan: planId, account: accountId, code, outcome };
      if (final) log.error(members, 'ALARM: issuance failed permanently');
      else log.warn(members, 'issuance failed; retrying');
    },
    resting: ({ id, planId, accountId }, { code, outcome }, until) => {
      log.info({ issuance: id, plan: planId, account: accountId, code, outcome, until }, 'issuance waits');
    },
    leaseLost: ({ id, planId }) => {
      lost.inc();
      log.warn({ issuance: id, plan: planId }, 'lease lost; another worker continues');
    },
    unexpectedError: ({ id, planId }, error) =>
      log.error({ issuance: id, plan: planId, err: error }, 'unexpected error'),
  };
}

function gaugeWhatWaits(
  { statistics, outbox, jobs }: Waiting,
  registry: RunningProcess['metrics']['registry'],
): void {
  const registers = [registry];
  const due = new Gauge({
    name: 'certwright_issuances_due',
    help: 'Open issuances that are due and not leased',
    registers,
  });
  const dueAge = new Gauge({
    name: 'certwright_issuances_due_age_seconds',
    help: 'How long the oldest of them has been due',
    registers,
  });
  const outboxRows = new Gauge({
    name: 'certwright_outbox_rows',
    help: 'Wake-ups that are not on Redis yet',
    registers,
  });
  const outboxAge = new Gauge({
    name: 'certwright_outbox_age_seconds',
    help: 'Age of the oldest of them',
    registers,
  });
  new Gauge({
    name: 'certwright_issuances_open',
    help: 'Open issuances, by phase',
    labelNames: ['phase'],
    registers,
    async collect() {
      const read = await statistics.read();
      for (const [phase, count] of Object.entries(read.byPhase)) this.set({ phase }, count);
      due.set(read.due);
      dueAge.set(read.oldestDueS);
      const backlog = await outbox.backlog();
      outboxRows.set(backlog.rows);
      outboxAge.set(backlog.oldestS);
    },
  });
  new Gauge({
    name: 'certwright_queue_jobs',
    help: 'Jobs that wait on Redis, by queue',
    labelNames: ['queue'],
    registers,
    async collect() {
      // Redis may be unavailable: its metrics are then missing, but the others are still returned.
      const lengths = await jobs.lengths().catch(() => new Map<string, number>());
      for (const [queue, length] of lengths) this.set({ queue }, length);
    },
  });
}
