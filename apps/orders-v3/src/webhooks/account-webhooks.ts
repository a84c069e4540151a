import { randomBytes } from 'node:crypto';
import { type Tx, WebhookDeliveries, WebhookEndpoints } from '@certwright/persistence';
import { Injectable } from '@nestjs/common';

/** What an account is told, in the words of `Webhook-Event`. */
export interface PlanEvent {
  readonly accountId: string;
  readonly planId: string;
  /** The plan's `current_version` that the event tells of. */
  readonly version: number;
  readonly event: string;
}

@Injectable()
export class AccountWebhooks {
  constructor(
    private readonly endpoints: WebhookEndpoints,
    private readonly deliveries: WebhookDeliveries,
  ) {}

  /**
   * Puts one delivery on its way to every enabled endpoint of the account. The same event again adds nothing.
   *
   * @param render the body; called once, and not at all when nobody wants to be told
   * @returns to how many endpoints
   */
  async tell(tx: Tx, event: PlanEvent, render: () => Promise<string>): Promise<number> {
    const endpointIds = await this.endpoints.enabledOf(event.accountId, tx);
    if (endpointIds.length === 0) return 0;
    const body = await render();
    for (const endpointId of endpointIds) {
      await this.deliveries.enqueue(tx, { ...event, endpointId, deliveryId: freshDeliveryId(), body });
    }
    return endpointIds.length;
  }
}

/** 160 random bits; the receiver knows a repetition by it (`webhook-id` of Standard Webhooks). */
export function freshDeliveryId(): string {
  return `msg_${randomBytes(20).toString('base64url')}`;
}
