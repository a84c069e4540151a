import { Announcements } from '@certwright/delivery';
import { type PlanOwner, Transactions } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { CertProducts } from '../cert-objects/cert-products';
import { CertificateNews } from './certificate-news';

/** Whose plans are told of here. */
export const owner: PlanOwner = 'certs-v2';

/** Tells the webhooks of the account that another instance is the current one of a certificate object. */
@Injectable()
export class AnnounceCurrentInstance {
  constructor(
    private readonly transactions: Transactions,
    private readonly announcements: Announcements,
    private readonly products: CertProducts,
    private readonly news: CertificateNews,
  ) {}

  /**
   * One transaction: the newest state, a delivery per endpoint, and the mark that it was told. May run any number of
   * times and at the same time.
   *
   * @returns false when there was nothing to tell, or another copy is telling it
   */
  async run(planId: string): Promise<boolean> {
    // Before the transaction: one that waits for a second connection may wait for itself.
    const products = await this.products.byType();
    return await this.transactions.run(async (tx) => {
      const unannounced = await this.announcements.lock(tx, owner, planId);
      if (unannounced === null) return false;
      await this.news.tell(tx, unannounced, products);
      await this.announcements.markAnnounced(tx, unannounced);
      return true;
    });
  }
}
