import { AccountBalanceEntity } from '@certwright/core-schema';
import { Purchases } from '@certwright/ordering';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { CertType } from '../cert-objects/cert-object';
import { CertObjectsRepository } from '../cert-objects/cert-objects.repository';
import { CertProducts } from '../cert-objects/cert-products';
import { type PricingJson, pricingJson } from './pricing-json';
import { pricedNames, productOf } from './product-query';

/** Price of a certificate bought now. */
@Injectable()
export class QuoteCertificate {
  constructor(
    private readonly database: DataSource,
    private readonly objects: CertObjectsRepository,
    private readonly products: CertProducts,
    private readonly purchases: Purchases,
  ) {}

  /**
   * @param sans as callers write them; null: default SANs
   * @param sansParam name of their parameter
   * @throws Refusal `bad_sans`, `product_unavailable`
   */
  async run(
    accountId: string,
    type: CertType,
    cn: string,
    sans: readonly string[] | null,
    sansParam = 'san',
  ): Promise<PricingJson> {
    const product = productOf(await this.products.byType(), type);
    const dnsNames = pricedNames(cn, sans, product.maxDnsNames, sansParam);
    const planId = (await this.objects.find(accountId, cn))?.planId ?? null;
    const quote = await this.purchases.quote({ planId, product, dnsNames, kind: 'term' });
    const hasBalance = await this.database.getRepository(AccountBalanceEntity).existsBy({ accountId });
    return pricingJson({ type, product, dnsNames, quote, payment: hasBalance ? 'balance' : 'none' });
  }
}
