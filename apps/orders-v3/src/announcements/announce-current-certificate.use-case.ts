import { Announcements, type Unannounced, WebhookFanOut } from '@certwright/delivery';
import { type PlanOwner, Transactions, type Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { OrderViews } from '../orders/order-views';
import { OrdersRepository } from '../orders/orders.repository';
import type { OrderExpansion } from '../wire/expansion';

/** Whose plans are told of here. */
export const owner: PlanOwner = 'orders-v3';

/** What the header `Webhook-Event` says. */
const currentCertChanged = 'order.current_cert_changed';

/** The order object as the specification has it for the order webhook. */
const announcedExpansion: OrderExpansion = {
  csr: false,
  currentCert: { leaf: true, chain: true, root: true },
  issuance: false,
};

/** Tells the webhooks of the account that another certificate, or none, is an order's current one. */
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
   * One transaction: the newest state, a delivery per endpoint, and the mark that it was told. May run any number of
   * times and at the same time.
   *
   * @returns false when there was nothing to tell, or another copy is telling it
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

  /** An order that was deleted meanwhile has nothing to say any more. */
  private async tell(tx: Tx, unannounced: Unannounced): Promise<void> {
    const order = await this.orders.ofPlan(tx, unannounced.planId);
    if (order === null) return;
    await this.webhooks.tell(tx, { ...unannounced, event: currentCertChanged }, async () =>
      JSON.stringify(await this.views.showOne(order, announcedExpansion, tx)),
    );
  }
}
