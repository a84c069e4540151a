import { Certificates } from '@certwright/ordering';
import { type Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import type { OrderExpansion } from '../wire/expansion';
import { orderJson, OrderSurroundings } from './order-json';
import { IssuanceFactsReader } from './issuance-facts';
import type { StoredOrder } from './order';

/** Shows orders with what was asked to be expanded, in a number of queries that does not grow with theirs. */
@Injectable()
export class OrderViews {
  constructor(
    private readonly certificates: Certificates,
    private readonly issuanceFacts: IssuanceFactsReader,
    private readonly surroundings: OrderSurroundings,
  ) {}

  /** @param orders of one account */
  async show(orders: readonly StoredOrder[], expansion: OrderExpansion): Promise<object[]> {
    return await this.render(orders, expansion);
  }

  /** As the open transaction sees it, on its own connection: waiting for a second one could be waiting for oneself. */
  async showWithin(tx: Tx, order: StoredOrder, expansion: OrderExpansion): Promise<object> {
    const [shown] = await this.render([order], expansion, tx);
    return shown as object;
  }

  private async render(
    orders: readonly StoredOrder[],
    expansion: OrderExpansion,
    tx?: Tx,
  ): Promise<object[]> {
    const now = new Date();
    const planIds = orders.map(({ planId }) => planId);
    const currents = expansion.currentCert === null ? [] : await this.certificates.currentOf(planIds, tx);
    const issuanceOf = expansion.issuance ? await this.issuanceFacts.of(orders, now, tx) : new Map();
    const currentOf = new Map(currents.map((certificate) => [certificate.planId, certificate]));
    return orders.map((order) => {
      const currentCert = currentOf.get(order.planId) ?? null;
      const issuance = issuanceOf.get(order.planId) ?? null;
      return orderJson(order, expansion, { currentCert, issuance, now }, this.surroundings);
    });
  }
}
