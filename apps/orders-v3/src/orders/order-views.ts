import { Installations } from '@certwright/accounts';
import { Certificates } from '@certwright/ordering';
import { type Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import {
  installationsOfOrders,
  maxInstallations,
  type OrderInstallations,
} from '../installations/installation-json';
import type { OrderExpansion } from '../wire/expansion';
import { AwaitedKeys } from './awaited-keys';
import { orderJson, OrderLinks, type OrderSchema } from './order-json';
import { IssuanceContextReader } from './issuance-context';
import type { StoredOrder } from './order';

/** Orders with their expanded members, in a number of queries that does not depend on the number of orders. */
@Injectable()
export class OrderViews {
  constructor(
    private readonly certificates: Certificates,
    private readonly issuanceContexts: IssuanceContextReader,
    private readonly installations: Installations,
    private readonly awaitedKeys: AwaitedKeys,
    private readonly links: OrderLinks,
  ) {}

  /**
   * @param orders of one account
   * @param tx the open transaction, if any: waiting for a second connection could be a deadlock
   */
  async show(orders: readonly StoredOrder[], expansion: OrderExpansion, tx?: Tx): Promise<OrderSchema[]> {
    const now = new Date();
    const planIds = orders.map(({ planId }) => planId);
    const currents = expansion.currentCert === null ? [] : await this.certificates.currentOf(planIds, tx);
    const issuanceOf = expansion.issuance ? await this.issuanceContexts.of(orders, now, tx) : null;
    const installationsOf = expansion.installations ? await this.installationsOf(planIds, tx) : null;
    const keys = expansion.issuance ? await this.awaitedKeys.of(orders, tx) : null;
    const currentOf = new Map(currents.map((certificate) => [certificate.planId, certificate]));
    return orders.map((order) => {
      const currentCert = currentOf.get(order.planId) ?? null;
      const issuance = issuanceOf?.get(order.planId) ?? null;
      const awaitedKey = keys?.get(order.planId) ?? null;
      const installations = installationsOf?.get(order.planId) ?? null;
      const expanded = { currentCert, issuance, awaitedKey, installations, now };
      return orderJson(order, expansion, expanded, this.links);
    });
  }

  async showOne(order: StoredOrder, expansion: OrderExpansion, tx?: Tx): Promise<OrderSchema> {
    const [shown] = await this.show([order], expansion, tx);
    return shown as OrderSchema;
  }

  private async installationsOf(
    planIds: readonly string[],
    tx?: Tx,
  ): Promise<ReadonlyMap<string, OrderInstallations>> {
    const read = await this.installations.ofPlans(planIds, maxInstallations + 1, tx);
    return installationsOfOrders(planIds, read);
  }
}
