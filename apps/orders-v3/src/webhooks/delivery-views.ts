import { type LoggedDelivery, WebhookLog } from '@certwright/delivery';
import { type Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { OrdersRepository } from '../orders/orders.repository';
import { deliveryJson } from '../wire/webhook-json';

/** Shows deliveries with the name of the order that each tells of. */
@Injectable()
export class DeliveryViews {
  constructor(
    private readonly log: WebhookLog,
    private readonly orders: OrdersRepository,
  ) {}

  /** @param tx the open transaction, when there is one: everything is read on its connection */
  async show(deliveries: readonly LoggedDelivery[], tx?: Tx): Promise<object[]> {
    const names = await this.orders.namesOf(
      deliveries.flatMap(({ planId }) => planId ?? []),
      tx,
    );
    return deliveries.map((delivery) => deliveryJson(delivery, names.get(delivery.planId ?? '') ?? null));
  }

  /** With what is sent, to the letter. @returns null when there is no such delivery */
  async one(accountId: string, webhookId: string, id: string, tx?: Tx): Promise<object | null> {
    const delivery = await this.log.get(accountId, webhookId, id, tx);
    if (delivery === null) return null;
    const [shown] = await this.show([delivery], tx);
    return { ...shown, body: delivery.body };
  }
}
