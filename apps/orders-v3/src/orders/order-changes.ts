import { randomBytes } from 'node:crypto';
import { secretBytes } from '@certwright/dns-names';
import { StandingApprovals } from '@certwright/approvals';
import { type KeyRequestReason, together, type Tx } from '@certwright/core-schema';
import type { Product } from '@certwright/issuance';
import { Injectable } from '@nestjs/common';
import { consequencesOf, type Order, type OrderCsr, sameNames, type StoredOrder } from './order';
import { OrderIssuances } from './order-issuances';
import { OrderKeys } from './order-keys';
import { OrdersRepository } from './orders.repository';

/** Side effects of creating or modifying an order, all in the caller's transaction. */
@Injectable()
export class OrderChanges {
  constructor(
    private readonly orders: OrdersRepository,
    private readonly issuances: OrderIssuances,
    private readonly standing: StandingApprovals,
    private readonly keys: OrderKeys,
  ) {}

  /** @throws Problem `payment_required`, or `bad_request` for a full cluster: then the transaction must not be committed */
  async create(tx: Tx, accountId: string, order: Order, product: Product): Promise<StoredOrder> {
    const downloadToken = randomBytes(secretBytes).toString('base64url');
    const [stored] = await together([
      this.orders.createPlan(tx, accountId, order, downloadToken),
      this.standing.ensure(tx, { accountId, dnsNames: order.dnsNames }, { webRule: true }),
    ]);
    await together([this.orders.insert(tx, stored), this.begin(tx, stored, product)]);
    return stored;
  }

  private async begin(tx: Tx, order: StoredOrder, product: Product): Promise<void> {
    await this.keys.follow(tx, null, order);
    if (!order.paused) await this.issuances.openFirst(tx, order, product);
  }

  /**
   * An agent made the key that was requested: the order gets its CSR, without waiting for further modifications. A
   * renewal is opened by the worker, as any other one. The caller holds the rows of `before`, and ends the request.
   *
   * @throws Problem `payment_required`: then the transaction must not be committed
   */
  async receiveKey(
    tx: Tx,
    before: StoredOrder,
    { csr, reason, product }: { csr: OrderCsr; reason: KeyRequestReason; product: Product },
  ): Promise<StoredOrder> {
    const stored = await this.orders.modify(tx, before, { ...before, csr }, 'replace');
    await this.issuances.issueNewKey(tx, stored, product, reason);
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
      await this.issuances.wake(tx, before);
      await this.keys.retry(tx, before);
      return before;
    }
    // Labels before the order, as in a creation: one of the same name waits for a changed order while it holds labels.
    if (!sameNames(before.dnsNames, after.dnsNames)) {
      const { accountId } = before;
      await this.standing.ensure(tx, { accountId, dnsNames: after.dnsNames }, { webRule: true });
    }
    const stored = await this.orders.modify(tx, before, after, consequences.terms);
    await this.keys.follow(tx, before, stored);
    await this.issuances.follow(tx, { before, stored, consequences, product });
    return stored;
  }
}
