import { Processor } from '@certwright/bullmq';
import { WebhookDeliveries } from '@certwright/delivery';
import type { JobPayloads } from '@certwright/jobs';
import { Round, RunningProcess } from '@certwright/service';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { DeliveryDispatcher } from './delivery-dispatcher';
import { LeasedDeliveries } from './leased-deliveries';

/** Between two sweeps, ms. A sweep starts deliveries that became due later, and those of lost jobs. */
const sweepEveryMs = 1_000;

const forgetEveryMs = 10 * 60 * 1_000;
const forgetBatch = 1_000;

/** Sends webhooks when they are due. */
@Injectable()
@Processor('webhooks')
export class WebhooksProcessor implements OnModuleInit {
  constructor(
    private readonly dispatcher: DeliveryDispatcher,
    private readonly leased: LeasedDeliveries,
    private readonly deliveries: WebhookDeliveries,
    private readonly running: RunningProcess,
  ) {}

  onModuleInit(): void {
    const longestWaitS = async () => this.dispatcher.longestWaitS(await this.leased.waiting());
    new Gauge({
      name: 'certwright_webhooks_due_age_seconds',
      help: 'How long the oldest delivery to an endpoint that is neither failing nor slow has been due',
      registers: [this.running.metrics.registry],
      async collect() {
        this.set(await longestWaitS());
      },
    });
  }

  async 'deliver-webhook'({ deliveryId }: JobPayloads['deliver-webhook']): Promise<void> {
    await Promise.resolve(this.dispatcher.wakeDelivery(deliveryId));
  }

  @Round('sweepDeliveries')
  async sweep(): Promise<number> {
    this.dispatcher.sweep(await this.leased.waiting());
    return sweepEveryMs;
  }

  @Round('forgetDeliveries')
  async forget(): Promise<number> {
    return (await this.deliveries.forgetOld(forgetBatch)) < forgetBatch ? forgetEveryMs : 0;
  }
}
