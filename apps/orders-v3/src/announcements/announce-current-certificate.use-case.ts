import { Announcements, type Unannounced, WebhookFanOut } from '@certwright/delivery';
import { type PlanOwner, Transactions, type Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { OrderViews } from '../orders/order-views';
import { OrdersRepository } from '../orders/orders.repository';
import type { OrderExpansion } from '../wire/expansion';

/** Owner of the plans that are announced here. */
export const owner: PlanOwner = 'orders-v3';

/** Value of the header `Webhook-Event`. */
const currentCertChanged = 'order.current_cert_changed';

/** The order object as the specification has it for the order webhook. */
const announcedExpansion: OrderExpansion = {
  csr: false,
  currentCert: { leaf: true, chain: true, root: true },
  issuance: false,
  installations: false,
};

/** Notifies the account's webhooks that an order's current certificate changed, possibly to none. */
@Injectable()
export class AnnounceCurrentCertificate {
  constructor(
    private readonly transactions: Transactions,
    private readonly announcements: Announcements,
    private readonly orders: OrdersRepository,
    private readonly views: OrderViews,
    private readonly webhooks: WebhookFanOut,
  ) {}

  /**
   * One transaction: the newest state, a delivery per endpoint, and the mark that it was announced. May run any
   * number of times and at the same time.
   *
   * @returns false when there was no change to announce, or another process is announcing it
   */
  async run(planId: string): Promise<boolean> {
    return await this.transactions.run(async (tx) => {
      const unannounced = await this.announcements.lock(tx, owner, planId);
      if (unannounced === null) return false;
      await this.tell(tx, unannounced);
      await this.announcements.markAnnounced(tx, unannounced);
      return true;
    });
  }

  /** An order that was deleted meanwhile has no more events. */
  private async tell(tx: Tx, unannounced: Unannounced): Promise<void> {
    const order = await this.orders.ofPlan(tx, unannounced.planId);
    if (order === null) return;
    await this.webhooks.tell(tx, { ...unannounced, event: currentCertChanged }, async () =>
      JSON.stringify(await this.views.showOne(order, announcedExpansion, tx)),
    );
  }
}
