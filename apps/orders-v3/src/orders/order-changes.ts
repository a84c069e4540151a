import { randomBytes } from 'node:crypto';
import { baseName, secretBytes, secretLabel } from '@certwright/dns-names';
import type { Product, PurchaseKind } from '@certwright/issuance';
import { Certificates, Issuances, Purchases } from '@certwright/ordering';
import { Delegations, IssuanceWakeUps, WebRules } from '@certwright/approvals';
import { type Tx } from '@certwright/core-schema';
import { Inject, Injectable } from '@nestjs/common';
import { OrdersConfig } from '../config';
import { consequencesOf, type Order, sameNames, type StoredOrder } from './order';
import { OrdersRepository } from './orders.repository';

const freshLabel = () => secretLabel(randomBytes(secretBytes));

/** Side effects of creating or modifying an order, all in the caller's transaction. */
@Injectable()
export class OrderChanges {
  constructor(
    private readonly orders: OrdersRepository,
    private readonly issuances: Issuances,
    private readonly wakeUps: IssuanceWakeUps,
    private readonly purchases: Purchases,
    private readonly certificates: Certificates,
    private readonly delegations: Delegations,
    private readonly webRules: WebRules,
    @Inject(OrdersConfig) private readonly config: Pick<OrdersConfig, 'SETTLING_MS'>,
  ) {}

  /** @throws Problem `payment_required`: then the transaction must not be committed */
  async create(tx: Tx, accountId: string, order: Order, product: Product): Promise<StoredOrder> {
    const stored = await this.orders.insert(
      tx,
      accountId,
      order,
      randomBytes(secretBytes).toString('base64url'),
    );
    await this.ensureSecrets(tx, stored);
    if (!stored.paused) await this.open(tx, stored, product, { settlingMs: 0, kind: 'term' });
    return stored;
  }

  /**
   * The caller holds the rows of `before`.
   *
   * @param product of `after`
   * @throws Problem `payment_required`: then the transaction must not be committed
   */
  async modify(tx: Tx, before: StoredOrder, after: Order, product: Product): Promise<StoredOrder> {
    const consequences = consequencesOf(before, after);
    if (consequences === null) {
      // An unchanged POST requests a check: approvals that wait for their next check are checked now.
      await this.wakeUps.wakePlan(tx, before.planId);
      return before;
    }
    const stored = await this.orders.modify(tx, before, after, consequences.terms);
    if (!sameNames(before.dnsNames, stored.dnsNames)) await this.ensureSecrets(tx, stored);
    if (consequences.terms !== 'keep') {
      const { dnsNames, csr } = stored;
      await this.certificates.reselectCurrent(tx, stored.planId, {
        dnsNames,
        spkiSha256: csr?.spkiSha256 ?? null,
      });
    }
    if (consequences.issuance === 'open') {
      const kind = kindOfModification(before, after);
      await this.open(tx, stored, product, { settlingMs: this.config.SETTLING_MS, kind });
    } else await this.issuances.closeOpen(tx, stored.planId, 'superseded');
    return stored;
  }

  /** Labels that the customer's records and servers point to; a new name of the account gets a fresh label. */
  private async ensureSecrets(tx: Tx, { accountId, dnsNames }: StoredOrder): Promise<void> {
    const names = [...new Set(dnsNames.map(baseName))];
    await this.delegations.ensure(tx, accountId, names, freshLabel);
    await this.webRules.ensure(accountId, freshLabel, tx);
  }

  private async open(tx: Tx, order: StoredOrder, product: Product, opening: Opening): Promise<void> {
    const { planId, accountId, revision, termsId, dnsNames } = order;
    if (termsId === null) return;
    const { settlingMs, kind } = opening;
    const issuance = { planId, accountId, revision, termsId, dnsNames, settlingMs, product };
    await this.purchases.open(tx, issuance, { kind });
  }
}

interface Opening {
  readonly settlingMs: number;
  readonly kind: PurchaseKind;
}

/**
 * A modification pays what the running term does not cover, such as added names. Turning `auto_renew` on when a
 * renewal is due renews: "to renew manually, set it to true, then immediately back to false".
 */
function kindOfModification(before: Order, after: Order): PurchaseKind {
  return !before.autoRenew && after.autoRenew ? 'renewal' : 'as_paid';
}
