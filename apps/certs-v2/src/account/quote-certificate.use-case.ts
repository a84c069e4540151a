import { AccountBalanceEntity } from '@certwright/core-schema';
import { Purchases } from '@certwright/ordering';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { CertObjectsRepository } from '../cert-objects/cert-objects.repository';
import { CertProducts } from '../cert-objects/cert-products';
import { Arguments } from '../wire/arguments';
import { pricedNames } from './priced-names';
import { type PricingJson, pricingJson } from './pricing-json';
import { productOf, readQueriedName, readType } from './product-request';

/** As it came; each may be a text, or an array of texts. */
export type PricingQuery = Readonly<Record<string, unknown>>;

/** What a certificate would cost, bought now. */
@Injectable()
export class QuoteCertificate {
  constructor(
    private readonly database: DataSource,
    private readonly objects: CertObjectsRepository,
    private readonly products: CertProducts,
    private readonly purchases: Purchases,
  ) {}

  /** @throws Refusal `missing_param`, `bad_cn`, `bad_sans`, `bad_type`, `bad_param`, `product_unavailable` */
  async run(accountId: string, query: PricingQuery): Promise<PricingJson> {
    const given = Arguments.of(query, true);
    const cn = readQueriedName(query['cn']);
    const type = readType(given.text('type') || 'dv');
    const sans = given.boolean('custom_sans') === true ? textsOf(query['san']) : null;
    const product = productOf(await this.products.byType(), type);
    const dnsNames = pricedNames(cn, sans, product.maxDnsNames);
    const planId = (await this.objects.find(accountId, cn))?.planId ?? null;
    const quote = await this.purchases.quote({ planId, product, dnsNames, kind: 'term' });
    const hasBalance = await this.database.getRepository(AccountBalanceEntity).existsBy({ accountId });
    return pricingJson({ type, product, dnsNames, quote, payment: hasBalance ? 'balance' : 'none' });
  }
}

/** An empty one is a field of a page that nobody filled in. */
function textsOf(value: unknown): readonly string[] {
  return [value].flat().filter((text): text is string => typeof text === 'string' && text !== '');
}
