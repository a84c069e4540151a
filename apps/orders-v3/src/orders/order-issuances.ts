import { IssuanceWakeUps } from '@certwright/approvals';
import { type KeyRequestReason, type Tx } from '@certwright/core-schema';
import type { Product, PurchaseKind } from '@certwright/issuance';
import { Certificates, Issuances, Purchases } from '@certwright/ordering';
import { Inject, Injectable } from '@nestjs/common';
import { OrdersConfig } from '../config';
import type { Consequences, Order, StoredOrder } from './order';

/** The modification of an order whose rows the caller holds. */
export interface Modified {
  readonly before: StoredOrder;
  readonly stored: StoredOrder;
  readonly consequences: Consequences;
  readonly product: Product;
}

/** Opens and closes issuances of orders, in the caller's transaction. */
@Injectable()
export class OrderIssuances {
  constructor(
    private readonly issuances: Issuances,
    private readonly wakeUps: IssuanceWakeUps,
    private readonly purchases: Purchases,
    private readonly certificates: Certificates,
    @Inject(OrdersConfig) private readonly config: Pick<OrdersConfig, 'SETTLING_MS'>,
  ) {}

  /** @throws Problem `payment_required`: then the transaction must not be committed */
  async openFirst(tx: Tx, order: StoredOrder, product: Product): Promise<void> {
    await this.open(tx, order, product, { settlingMs: 0, kind: 'term', isFirst: true });
  }

  /** @throws Problem `payment_required`: then the transaction must not be committed */
  async issueNewKey(tx: Tx, order: StoredOrder, product: Product, reason: KeyRequestReason): Promise<void> {
    const { planId, dnsNames, csr } = order;
    await this.certificates.reselectCurrent(tx, planId, { dnsNames, spkiSha256: csr?.spkiSha256 ?? null });
    if (reason === 'renewal') {
      await tx.query(`UPDATE plan SET renew_at = clock_timestamp() WHERE id = $1`, [planId]);
      return;
    }
    // A rekey of the cluster does not buy what its owner lets end.
    const mayCharge = reason === 'first' || order.autoRenew;
    await this.open(tx, order, product, { settlingMs: 0, kind: 'as_paid', mayCharge });
  }

  /** For a POST without changes, which requests a check: approvals that wait for their next check are checked now. */
  async wake(tx: Tx, { planId }: StoredOrder): Promise<void> {
    await this.wakeUps.wakePlan(tx, planId);
  }

  /** @throws Problem `payment_required`: then the transaction must not be committed */
  async follow(tx: Tx, { before, stored, consequences, product }: Modified): Promise<void> {
    const { planId, dnsNames, csr } = stored;
    if (consequences.terms !== 'keep') {
      const spkiSha256 = csr?.spkiSha256 ?? null;
      await this.certificates.reselectCurrent(tx, planId, { dnsNames, spkiSha256 });
    }
    if (consequences.issuance === 'open') {
      const kind = kindOfModification(before, stored);
      const mayCharge = kind === 'renewal' || consequences.terms !== 'keep' || before.paused;
      const { SETTLING_MS: settlingMs } = this.config;
      const isOpened = await this.open(tx, stored, product, { settlingMs, kind, mayCharge });
      // Where a new one would be charged, the open one goes on.
      if (isOpened || consequences.terms === 'keep') return;
    }
    await this.issuances.closeOpen(tx, planId, 'superseded');
  }

  /** @returns false when nothing is opened: without a CSR, or because it would be charged */
  private async open(
    tx: Tx,
    order: StoredOrder,
    product: Product,
    { settlingMs, kind, isFirst = false, mayCharge = true }: Opening,
  ): Promise<boolean> {
    const { planId, accountId, revision, termsId, dnsNames } = order;
    if (termsId === null) return false;
    const isCharged = mayCharge && product.available;
    if (!isCharged && !(await this.purchases.isCovered(tx, { planId, product, dnsNames, kind })))
      return false;
    const issuance = { planId, accountId, revision, termsId, dnsNames, settlingMs, isFirst, product };
    await this.purchases.open(tx, issuance, { kind });
    return true;
  }
}

interface Opening {
  readonly settlingMs: number;
  readonly kind: PurchaseKind;
  /** Of an order that the transaction creates. */
  readonly isFirst?: boolean;
  /** Default: true. A product that is unavailable is not charged in any case. */
  readonly mayCharge?: boolean;
}

/**
 * A modification pays what the running term does not cover, such as added names. One that only mutes the order or turns
 * `auto_renew` off pays nothing. Turning `auto_renew` on when a renewal is due renews: "to renew manually, set it to
 * true, then immediately back to false".
 */
function kindOfModification(before: Order, after: Order): PurchaseKind {
  return !before.autoRenew && after.autoRenew ? 'renewal' : 'as_paid';
}
