import { type PlanOwner, Transactions, type Tx } from '@certwright/core-schema';
import { Announcements, type Unannounced, WebhookFanOut } from '@certwright/delivery';
import { Injectable } from '@nestjs/common';
import { ReadyApprovals } from '../cert-objects/approval-statuses';
import { CertObjectViews } from '../cert-objects/cert-object-views';
import { CertObjectsRepository } from '../cert-objects/cert-objects.repository';
import { CertProducts, type ProductsByType } from '../cert-objects/cert-products';
import { Expansion } from '../wire/expansion';

/** Owner of the plans that are announced here. */
export const owner: PlanOwner = 'certs-v2';

/** The header `Webhook-Event`. */
const certificateIssued = 'certificate.issued';

/** The certificate object as the specification has it for the certificate webhook. */
const announced = Expansion.of(['current.crt', 'current.chain']);

/** The message that an instance was issued. */
@Injectable()
export class CurrentInstanceMessage {
  constructor(
    private readonly objects: CertObjectsRepository,
    private readonly views: CertObjectViews,
    private readonly webhooks: WebhookFanOut,
  ) {}

  /** Sends nothing when there is no current instance any more, or an imported one is current: nothing was issued. */
  async send(tx: Tx, unannounced: Unannounced, products: ProductsByType): Promise<void> {
    const object = await this.objects.ofPlan(tx, unannounced.planId);
    if (object === null) return;
    const beforehand = { products, ready: ReadyApprovals.none };
    await this.webhooks.tell(tx, { ...unannounced, event: certificateIssued }, async () => {
      const [shown] = await this.views.show([object], announced, tx, beforehand);
      return shown?.current?.source === 'service' ? JSON.stringify(shown) : null;
    });
  }
}

/** Notifies the account's webhooks that another instance is the current one of a certificate object. */
@Injectable()
export class AnnounceCurrentInstance {
  constructor(
    private readonly transactions: Transactions,
    private readonly announcements: Announcements,
    private readonly products: CertProducts,
    private readonly message: CurrentInstanceMessage,
  ) {}

  /**
   * One transaction: the newest state, a delivery per endpoint, and the mark that it was announced. May run any number of
   * times and at the same time.
   *
   * @returns false when there was nothing to announce, or another copy is announcing it
   */
  async run(planId: string): Promise<boolean> {
    // Before the transaction: one that waits for a second connection may wait for itself.
    const products = await this.products.byType();
    return await this.transactions.run(async (tx) => {
      const unannounced = await this.announcements.lock(tx, owner, planId);
      if (unannounced === null) return false;
      await this.message.send(tx, unannounced, products);
      await this.announcements.markAnnounced(tx, unannounced);
      return true;
    });
  }
}
