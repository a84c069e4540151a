import type { LeasedMails } from './mail/leased-mails';
import type { RunningProcess } from '@certwright/service';
import { Counter, Gauge, Histogram } from 'prom-client';
import type { MailEvents } from './mail/mail-events';
import type { WebhookEvents } from './webhooks/webhook-events';

/** From an endpoint next door to the bound of a try. */
const tryBucketsS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15];

/** Log lines and metrics of deliveries. */
export function observeWebhooks({ log, metrics: { registry } }: RunningProcess): WebhookEvents {
  const registers = [registry];
  const tries = new Counter({
    name: 'certwright_webhook_tries_total',
    help: 'Tries of deliveries, by what became of the delivery',
    labelNames: ['outcome'],
    registers,
  });
  const seconds = new Histogram({
    name: 'certwright_webhook_try_seconds',
    help: 'How long endpoints took to answer',
    buckets: tryBucketsS,
    registers,
  });
  const disabled = new Counter({
    name: 'certwright_webhook_endpoints_disabled_total',
    help: 'Endpoints that were switched off since they fail',
    registers,
  });
  return {
    tried: (
      { delivery, endpoint },
      { status, problem, durationMs },
      { delivery: { state }, disabledReason },
    ) => {
      tries.inc({ outcome: state === 'pending' ? 'retried' : state });
      seconds.observe(durationMs / 1_000);
      const members = {
        delivery: delivery.id,
        endpoint: endpoint.id,
        account: delivery.accountId,
        status,
        state,
      };
      if (problem === null) log.info(members, 'webhook delivered');
      else log.warn({ ...members, problem }, 'webhook failed');
      if (disabledReason === null) return;
      disabled.inc();
      log.warn(
        { endpoint: endpoint.id, account: delivery.accountId, reason: disabledReason },
        'endpoint disabled',
      );
    },
    leaseLost: ({ delivery }) => log.warn({ delivery: delivery.id }, 'lease lost; another process goes on'),
    stumbled: ({ delivery, endpoint }, error) =>
      log.error(
        { delivery: delivery.id, endpoint: endpoint.id, err: error },
        'unforeseen; it is tried again',
      ),
  };
}

/** @param longestS how long a delivery has been waiting for this platform, whatever others wait for their endpoints */
export function observeLongestWait(
  { metrics: { registry } }: RunningProcess,
  longestS: () => Promise<number>,
): void {
  gaugeOldest(
    'certwright_webhooks_due_age_seconds',
    'How long the oldest delivery to an endpoint that is neither failing nor slow has been due',
    registry,
    longestS,
  );
}

/** Log lines and metrics of mails; no address is logged. */
export function observeMails(
  { log, metrics: { registry } }: RunningProcess,
  leased: LeasedMails,
): MailEvents {
  const mails = new Counter({
    name: 'certwright_mail_tries_total',
    help: 'Tries of mails, by kind and by what became of the mail',
    labelNames: ['kind', 'outcome'],
    registers: [registry],
  });
  gaugeOldest('certwright_mails_due_age_seconds', 'How long the oldest mail has been due', registry, () =>
    leased.oldestDueS(),
  );
  return {
    ended: ({ lease, kind, accountId }, outcome, problem) => {
      mails.inc({ kind, outcome });
      const members = { mail: lease.mailId, kind, account: accountId, outcome };
      if (problem === null) log.info(members, 'mail');
      else log.warn({ ...members, problem }, 'mail not sent');
    },
    leaseLost: ({ lease }) => log.warn({ mail: lease.mailId }, 'lease lost; another process goes on'),
  };
}

function gaugeOldest(
  name: string,
  help: string,
  registry: RunningProcess['metrics']['registry'],
  oldestS: () => Promise<number>,
): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      this.set(await oldestS());
    },
  });
}
