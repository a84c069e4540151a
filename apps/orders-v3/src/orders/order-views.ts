import { baseName } from '@certwright/dns-names';
import {
  Certificates,
  type DelegationLabels,
  Delegations,
  Issuances,
  type Tx,
} from '@certwright/persistence';
import { Injectable } from '@nestjs/common';
import type { OrderExpansion } from '../wire/expansion';
import { orderJson, OrderSurroundings } from '../wire/order-json';
import type { StoredOrder } from './order';
import { OrderChanges } from './order-changes';

/** Shows orders with what was asked to be expanded, in a number of queries that does not grow with theirs. */
@Injectable()
export class OrderViews {
  constructor(
    private readonly certificates: Certificates,
    private readonly issuances: Issuances,
    private readonly delegations: Delegations,
    private readonly changes: OrderChanges,
    private readonly surroundings: OrderSurroundings,
  ) {}

  async show(orders: readonly StoredOrder[], expansion: OrderExpansion): Promise<object[]> {
    return await this.render(orders, expansion, undefined, async () => {
      const [first] = orders;
      const names = new Set(orders.flatMap(({ dnsNames }) => dnsNames.map(baseName)));
      return first === undefined ? new Map() : await this.delegations.ofNames(first.accountId, [...names]);
    });
  }

  /** As the open transaction sees it, on its own connection: waiting for a second one could be waiting for oneself. */
  async showWithin(tx: Tx, order: StoredOrder, expansion: OrderExpansion): Promise<object> {
    const [shown] = await this.render([order], expansion, tx, () => this.changes.ensureLabels(tx, order));
    return shown as object;
  }

  private async render(
    orders: readonly StoredOrder[],
    expansion: OrderExpansion,
    tx: Tx | undefined,
    labelsOf: () => Promise<DelegationLabels>,
  ): Promise<object[]> {
    const planIds = orders.map(({ planId }) => planId);
    const currents = expansion.currentCert === null ? [] : await this.certificates.currentOf(planIds, tx);
    const latests = expansion.issuance ? await this.issuances.latestOf(planIds, tx) : [];
    const labels: DelegationLabels = expansion.issuance ? await labelsOf() : new Map();
    const currentOf = new Map(currents.map((certificate) => [certificate.planId, certificate]));
    const latestOf = new Map(latests.map((issuance) => [issuance.planId, issuance]));
    const now = new Date();
    return orders.map((order) => {
      const currentCert = currentOf.get(order.planId) ?? null;
      const latest = latestOf.get(order.planId) ?? null;
      return orderJson(order, expansion, { currentCert, latest, labels, now }, this.surroundings);
    });
  }
}
