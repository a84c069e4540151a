import type { WebhookAttempt } from '@certwright/delivery';
import { RunningProcess } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { Counter, Histogram } from 'prom-client';
import type { LeasedDelivery, TriedDelivery } from './delivery-lease';

/** From an endpoint nearby to the timeout of an attempt. */
const tryBucketsS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15];

/** Events of deliveries. */
export abstract class WebhookEvents {
  abstract tried(leased: LeasedDelivery, attempt: WebhookAttempt, followed: TriedDelivery): void;
  /** Another process continues; the endpoint may have received the message twice. */
  abstract leaseLost(leased: LeasedDelivery): void;
  /** An internal error: nothing was sent, or the outcome is unknown; it is retried. */
  abstract unexpectedError(leased: LeasedDelivery, error: unknown): void;
}

/** Log lines and metrics. */
@Injectable()
export class ObservedWebhooks implements WebhookEvents {
  private readonly log: RunningProcess['log'];
  private readonly tries: Counter<'outcome'>;
  private readonly seconds: Histogram;
  private readonly disabled: Counter;

  constructor({ log, metrics: { registry } }: RunningProcess) {
    const registers = [registry];
    this.log = log;
    this.tries = new Counter({
      name: 'certwright_webhook_tries_total',
      help: 'Delivery attempts, by outcome',
      labelNames: ['outcome'],
      registers,
    });
    this.seconds = new Histogram({
      name: 'certwright_webhook_try_seconds',
      help: 'Response time of endpoints',
      buckets: tryBucketsS,
      registers,
    });
    this.disabled = new Counter({
      name: 'certwright_webhook_endpoints_disabled_total',
      help: 'Endpoints disabled because they fail',
      registers,
    });
  }

  tried(
    { delivery, endpoint }: LeasedDelivery,
    { status, problem, durationMs }: WebhookAttempt,
    { delivery: { state }, disabledReason }: TriedDelivery,
  ): void {
    this.tries.inc({ outcome: state === 'pending' ? 'retried' : state });
    this.seconds.observe(durationMs / 1_000);
    const { id, accountId: account } = delivery;
    const members = { delivery: id, endpoint: endpoint.id, account, status, state };
    if (problem === null) this.log.info(members, 'webhook delivered');
    else this.log.warn({ ...members, problem }, 'webhook failed');
    if (disabledReason === null) return;
    this.disabled.inc();
    this.log.warn({ endpoint: endpoint.id, account, reason: disabledReason }, 'endpoint disabled');
  }

  leaseLost({ delivery }: LeasedDelivery): void {
    this.log.warn({ delivery: delivery.id }, 'lease lost; another process continues');
  }

  unexpectedError({ delivery, endpoint }: LeasedDelivery, error: unknown): void {
    this.log.error(
      { delivery: delivery.id, endpoint: endpoint.id, err: error },
      'unexpected error; retrying',
    );
  }
}
