import type { Product } from '@certwright/issuance';
import { BlockedKeys, Products } from '@certwright/ordering';
import { Clusters } from '@certwright/accounts';
import { Injectable } from '@nestjs/common';
import type { Order } from './order';
import { orderNameFault } from './order-name';
import type { OrderFacts, OrderReading } from './order-rules';

/** Looks up what the rules of an order need to know. */
@Injectable()
export class OrderFactsReader {
  constructor(
    private readonly products: Products,
    private readonly clusters: Clusters,
    private readonly blockedKeys: BlockedKeys,
  ) {}

  /** To be called before a transaction is begun: one that waits for a second connection may wait for itself. */
  async of(accountId: string, { wishes, csr }: OrderReading): Promise<OrderFacts> {
    return {
      products: await this.products.byName(),
      clusterExists: await this.clusterExists(accountId, wishes.cluster ?? null),
      keyBlocked: csr !== null && (await this.blockedKeys.has(Buffer.from(csr.spkiSha256, 'hex'), accountId)),
    };
  }

  /** A text that cannot be a name is no cluster, and PostgreSQL need not be asked. */
  private async clusterExists(accountId: string, name: string | null): Promise<boolean> {
    if (name === null) return true;
    return orderNameFault(name) === null && (await this.clusters.exists(accountId, name));
  }
}

/** The product of an order in which nothing is wrong: then it is a known one. */
export function productOf({ product }: Pick<Order, 'product'>, { products }: OrderFacts): Product {
  const known = products.get(product);
  if (known === undefined) throw new Error(`an order has the product ${product}, which is not there`);
  return known;
}
