import type { Product } from '@certwright/issuance';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ProductEntity } from '@certwright/core-schema';

/** Maximum time until every process has read an operator's change of a product. */
const keptMs = 5_000;

@Injectable()
export class Products {
  private kept: { readonly byName: ReadonlyMap<string, Product>; readonly until: number } | null = null;

  constructor(private readonly database: DataSource) {}

  async byName(): Promise<ReadonlyMap<string, Product>> {
    if (this.kept === null || this.kept.until < performance.now()) {
      const products = await this.database.getRepository(ProductEntity).find();
      this.kept = {
        byName: new Map(products.map((product) => [product.name, product])),
        until: performance.now() + keptMs,
      };
    }
    return this.kept.byName;
  }
}
