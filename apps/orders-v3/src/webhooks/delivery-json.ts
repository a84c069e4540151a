import { type DeliveryState, deliveryStates, type Tx } from '@certwright/core-schema';
import { type LoggedDelivery, WebhookLog } from '@certwright/delivery';
import { testEvent, webhookEvents } from '@certwright/webhooks';
import { timestamp } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { OrdersRepository } from '../orders/orders.repository';

export class DeliveryAttemptSchema {
  @ApiProperty({ format: 'date-time' })
  started_at: string;

  @ApiProperty({ type: 'integer' })
  duration_ms: number;

  @ApiProperty({ type: 'integer', nullable: true, description: 'HTTP status; null: no response.' })
  status: number | null;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Why it failed; null when it succeeded.',
  })
  problem: string | null;
}

export class DeliverySchema {
  @ApiProperty({
    example: 'msg_2Xh8vJq0s1dQe4mCkq0yH7uWb3A',
    description: 'Also webhook-id and Idempotency-Key of each attempt.',
  })
  id: string;

  @ApiProperty({
    enum: [...webhookEvents, testEvent],
    description:
      'Also the header Webhook-Event. The body of order.current_cert_changed is the order object with current_cert.leaf, .chain and .root expanded.',
  })
  event: string;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Name of the order that it reports; null for other events, and when the order was deleted.',
  })
  order: string | null;

  @ApiProperty({
    enum: deliveryStates,
    description:
      'superseded: a newer state of the order took its place. canceled: webhook or order are gone, or what it reports was authorized before it was sent.',
  })
  state: DeliveryState;

  @ApiProperty({ type: String, nullable: true, description: 'The delivery whose body this one repeats.' })
  replay_of: string | null;

  @ApiProperty({ format: 'date-time' })
  created_at: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  next_attempt_at: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  finished_at: string | null;

  @ApiProperty({ type: [DeliveryAttemptSchema], description: 'Oldest first.' })
  attempts: readonly DeliveryAttemptSchema[];
}

export class DeliveryWithBodySchema extends DeliverySchema {
  @ApiProperty({ description: 'Exactly what is signed and sent.' })
  body: string;
}

/** @param order name of the order whose change it reports; null for other events, and after the order was deleted */
function deliveryJson(delivery: LoggedDelivery, order: string | null): DeliverySchema {
  return {
    id: delivery.id,
    event: delivery.event,
    order,
    state: delivery.state,
    replay_of: delivery.replayOf,
    created_at: timestamp(delivery.createdAt),
    next_attempt_at: timestamp(delivery.nextAttemptAt),
    finished_at: timestamp(delivery.finishedAt),
    attempts: delivery.attempts.map(({ startedAt, durationMs, status, problem }): DeliveryAttemptSchema => ({
      started_at: timestamp(startedAt),
      duration_ms: durationMs,
      status,
      problem,
    })),
  };
}

/** Deliveries with the names of their orders. */
@Injectable()
export class DeliveryViews {
  constructor(
    private readonly log: WebhookLog,
    private readonly orders: OrdersRepository,
  ) {}

  /** @param tx the open transaction, when there is one: everything is read on its connection */
  async show(deliveries: readonly LoggedDelivery[], tx?: Tx): Promise<DeliverySchema[]> {
    const planIds = deliveries.flatMap(({ planId }) => planId ?? []);
    const names = await this.orders.namesOf(planIds, tx);
    return deliveries.map((delivery) => deliveryJson(delivery, names.get(delivery.planId ?? '') ?? null));
  }

  /** @returns null when there is no such delivery */
  async one(
    accountId: string,
    webhookId: string,
    id: string,
    tx?: Tx,
  ): Promise<DeliveryWithBodySchema | null> {
    const delivery = await this.log.get(accountId, webhookId, id, tx);
    if (delivery === null) return null;
    const [shown] = await this.show([delivery], tx);
    return { ...(shown as DeliverySchema), body: delivery.body };
  }
}
