import { Mails } from '@certwright/delivery';
import type { DeliveryBounds, LeasedDelivery } from '../webhooks/delivery-lease';
import { LeasedDeliveries } from '../webhooks/leased-deliveries';
import type { CoreDatabaseFixture } from '@certwright/core-testing';
import { WebhookFixture } from '@certwright/core-testing';

export const bounds: DeliveryBounds = { perEndpoint: 4, perFailingEndpoint: 1, perAccount: 6 };
export const leaseMs = 30_000;

/** The lessor of deliveries, over the same database. */
export class LeasedWebhookFixture extends WebhookFixture {
  readonly leased: LeasedDeliveries;

  constructor(core: CoreDatabaseFixture) {
    super(core);
    this.leased = new LeasedDeliveries(core.database, core.transactions, new Mails(core.database));
  }

  /** Up to `max` deliveries of an endpoint; retries while another process leases for the account. */
  async lease(endpointId: string, max = 1): Promise<readonly LeasedDelivery[]> {
    for (;;) {
      const { leased, retry } = await this.leased.lease([{ endpointId, max }], leaseMs, bounds);
      if (leased.length > 0 || retry.length === 0) return leased;
    }
  }
}
