import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Unannounced } from '../announcements/announcements';
import type { Tx } from '@certwright/core-schema';
import type { WebhookEvent } from '@certwright/webhooks';
import { WebhookDeliveries } from './webhook-deliveries';
import { WebhookEndpoints } from './webhook-endpoints';

/** A notification of an account about a plan. */
export interface PlanEvent extends Unannounced {
  readonly event: WebhookEvent;
}

@Injectable()
export class WebhookFanOut {
  constructor(
    private readonly endpoints: WebhookEndpoints,
    private readonly deliveries: WebhookDeliveries,
  ) {}

  /**
   * Enqueues one delivery for every enabled endpoint of the account that selected the event. The same event again adds nothing.
   *
   * @param body called once, or not at all without endpoints; null: nothing to send
   * @returns to how many endpoints
   */
  async tell(tx: Tx, event: PlanEvent, body: () => Promise<string | null>): Promise<number> {
    const endpointIds = await this.endpoints.selecting(event.accountId, event.event, tx);
    if (endpointIds.length === 0) return 0;
    const rendered = await body();
    if (rendered === null) return 0;
    for (const endpointId of endpointIds) {
      const delivery = { ...event, endpointId, deliveryId: freshDeliveryId(), body: rendered };
      await this.deliveries.enqueue(tx, delivery);
    }
    return endpointIds.length;
  }
}

/** 160 random bits; the receiver knows a repetition by it (`webhook-id` of Standard Webhooks). */
export function freshDeliveryId(): string {
  return `msg_${randomBytes(20).toString('base64url')}`;
}
