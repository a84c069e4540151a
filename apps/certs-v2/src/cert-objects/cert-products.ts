import type { Product } from '@certwright/issuance';
import { Products } from '@certwright/ordering';
import { Inject, Injectable } from '@nestjs/common';
import { CertsConfig } from '../config';
import type { CertType } from './cert-object';

/** Type → its product; null: there is none in this deployment. */
export type ProductsByType = Readonly<Record<CertType, Product | null>>;

@Injectable()
export class CertProducts {
  constructor(
    private readonly products: Products,
    @Inject(CertsConfig)
    private readonly config: Pick<CertsConfig, 'DV_PRODUCT' | 'EV_PRODUCT' | 'CERTWRIGHT_MODE'>,
  ) {}

  /** Call it before a transaction begins: it may need its own connection. */
  async byType(): Promise<ProductsByType> {
    const products = await this.products.byName();
    return {
      dv: products.get(this.config.DV_PRODUCT) ?? null,
      ev: products.get(this.config.EV_PRODUCT) ?? null,
    };
  }

  /**
   * Whether a record at a parent name counts. ACME CAs check only the name itself; a sandbox issues everything by its
   * built-in CA, whatever the product.
   */
  acceptsRecordsAbove(product: Product | null): boolean {
    if (this.config.CERTWRIGHT_MODE === 'sandbox' || product === null) return true;
    const { authorities, certificateAuthority } = product;
    const names = authorities.length > 0 ? authorities.map(({ name }) => name) : [certificateAuthority];
    return names.every((name) => name === builtInCa);
  }
}

/** Name of the deployment's own CA in products. */
const builtInCa = 'built-in';
