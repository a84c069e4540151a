import type { Product } from '@certwright/issuance';
import { BlockedKeys, Products } from '@certwright/ordering';
import { objectNameFault, Clusters } from '@certwright/accounts';
import { Injectable } from '@nestjs/common';
import type { Order } from './order';
import type { OrderRequest } from './order-request';
import type { OrderContext } from './order-rules';

/** Reads what the rules of an order need from the database. */
@Injectable()
export class OrderContextReader {
  constructor(
    private readonly products: Products,
    private readonly clusters: Clusters,
    private readonly blockedKeys: BlockedKeys,
  ) {}

  /** Call it before a transaction begins: waiting for a second connection inside one could be a deadlock. */
  async of(accountId: string, { cluster, csr }: Partial<OrderRequest>): Promise<OrderContext> {
    return {
      products: await this.products.byName(),
      clusterExists: await this.clusterExists(accountId, cluster ?? null),
      keyBlocked: csr ? await this.blockedKeys.has(Buffer.from(csr.spkiSha256), accountId) : false,
    };
  }

  /** A text that cannot be a name is not looked up. */
  private async clusterExists(accountId: string, name: string | null): Promise<boolean> {
    if (name === null) return true;
    return objectNameFault(name) === null && (await this.clusters.exists(accountId, name));
  }
}

/** @param order without faults */
export function productOf({ product }: Pick<Order, 'product'>, { products }: OrderContext): Product {
  const known = products.get(product);
  if (known === undefined) throw new Error(`the order has the unknown product ${product}`);
  return known;
}
