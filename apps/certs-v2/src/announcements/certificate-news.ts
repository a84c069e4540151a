import { type Tx } from '@certwright/core-schema';
import { type Unannounced, WebhookFanOut } from '@certwright/delivery';
import { Injectable } from '@nestjs/common';
import { ReadyApprovals } from '../cert-objects/approval-statuses';
import { CertObjectViews } from '../cert-objects/cert-object-views';
import { CertObjectsRepository } from '../cert-objects/cert-objects.repository';
import type { ProductsByType } from '../cert-objects/cert-products';
import { Expansion } from '../wire/expansion';

/** What the header `Webhook-Event` says. */
const certificateIssued = 'certificate.issued';

/** The certificate object as the specification has it for the certificate webhook. */
const announced = Expansion.of(['current.crt', 'current.chain']);

/** Writes the message that an instance was issued. */
@Injectable()
export class CertificateNews {
  constructor(
    private readonly objects: CertObjectsRepository,
    private readonly views: CertObjectViews,
    private readonly webhooks: WebhookFanOut,
  ) {}

  /** That there is no current instance any more is no news of this event: nothing was issued. */
  async tell(tx: Tx, unannounced: Unannounced, products: ProductsByType): Promise<void> {
    const object = await this.objects.ofPlan(tx, unannounced.planId);
    if (object === null) return;
    const beforehand = { products, ready: ReadyApprovals.none };
    await this.webhooks.tell(tx, { ...unannounced, event: certificateIssued }, async () => {
      const [shown] = await this.views.show([object], announced, tx, beforehand);
      return shown?.current ? JSON.stringify(shown) : null;
    });
  }
}
