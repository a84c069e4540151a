import { AccountBalanceEntity } from '@certwright/core-schema';
import { Purchases } from '@certwright/ordering';
import type { ApprovalMethod } from '@certwright/issuance';
import { Injectable } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { defaultSanOf } from '../cert-objects/cert-object';
import { CertObjectsRepository } from '../cert-objects/cert-objects.repository';
import { CertProducts } from '../cert-objects/cert-products';
import { approvalMethods } from '../wire/approval-json';
import { Arguments, badParam } from '../wire/arguments';
import { ApiInteger, ApiList, ApiNullable } from '../wire/openapi/members';
import { pricedNames } from './priced-names';
import { PaymentJson, type PaymentMethod, pricingJson } from './pricing-json';
import { productOf, readQueriedName, readType } from './product-request';
import type { PricingQuery } from './quote-certificate.use-case';
import { RetrieveApprovalMethods } from './retrieve-approval-methods.use-case';

/** A certificate has 100 names at most, whatever the product. */
const mostNames = 100;

@ApiSchema({ name: 'OfferPrice' })
class OfferPriceJson {
  @ApiProperty({ description: 'ISO 4217.' }) currency: string;
  @ApiInteger('Of a year, in hundredths of the currency.') base_price: number;
  @ApiInteger('In hundredths of the currency.') discount: number;
  @ApiInteger('In hundredths of the currency.') amount_due: number;
}

@ApiSchema({ name: 'ProductOffer' })
export class ProductOfferJson {
  @ApiProperty({ description: 'Common name.' }) cn: string;
  @ApiList(String, 'The common name, and the name that default SANs add.') default_sans: readonly string[];
  @ApiProperty({ description: 'What is sold.' }) description: string;
  @ApiPropertyOptional({ type: 'integer', description: 'How long, if it is whole years.' }) years?: number;
  @ApiProperty() price: OfferPriceJson;
  @ApiNullable(PaymentJson, 'How it is paid for. Null when it costs nothing.') payment: PaymentJson | null;
  @ApiProperty({ enum: approvalMethods, isArray: true, description: 'Those that can approve the name.' })
  approval_methods: ApprovalMethod[];
  @ApiList(String, 'Who may approve by email.') approver_emails: readonly string[];
}

/** Price and approval of one product for one name, as clients up to version 1.7 ask for both together. */
@Injectable()
export class RetrieveProduct {
  constructor(
    private readonly database: DataSource,
    private readonly objects: CertObjectsRepository,
    private readonly products: CertProducts,
    private readonly purchases: Purchases,
    private readonly approval: RetrieveApprovalMethods,
  ) {}

  /** @throws Refusal `bad_type`, `missing_param`, `bad_cn`, `bad_sans`, `bad_param`, `product_unavailable` */
  async run(accountId: string, typeText: string, query: PricingQuery): Promise<ProductOfferJson> {
    const type = readType(typeText);
    const cn = readQueriedName(query['cn']);
    const product = productOf(await this.products.byType(), type);
    const dnsNames = pricedNames(cn, countedSans(Arguments.of(query, true)), product.maxDnsNames);
    const planId = (await this.objects.find(accountId, cn))?.planId ?? null;
    const quote = await this.purchases.quote({ planId, product, dnsNames, kind: 'term' });
    const hasBalance = await this.database.getRepository(AccountBalanceEntity).existsBy({ accountId });
    const payment: PaymentMethod = hasBalance ? 'balance' : 'none';
    const { duration, duration_unit, price, ...pricing } = pricingJson({
      type,
      product,
      dnsNames,
      quote,
      payment,
    });
    const ways = await this.approval.ways(accountId, cn, product);
    return {
      cn,
      // With the common name: clients tell by them which names of a certificate need no SAN object.
      default_sans: [cn, defaultSanOf(cn)],
      description: pricing.description,
      ...(duration_unit === 'year' ? { years: duration } : {}),
      price: {
        currency: pricing.currency,
        base_price: duration_unit === 'year' ? Math.ceil(price / duration) : price,
        discount: 0,
        amount_due: price,
      },
      payment: pricing.payment,
      approval_methods: (['email', 'dns', 'http'] as const).filter((method) => ways[method].available),
      approver_emails: ways.email.addresses,
    };
  }
}

/**
 * Such clients send how many further names there are, not which: as many names as that stand in their place, each of which
 * is paid for. Never cheaper than what is bought.
 *
 * @returns null: default SANs
 */
function countedSans(given: Arguments): readonly string[] | null {
  const [names, wildcards] = [countOf(given, 'sans'), countOf(given, 'wildcard_sans')];
  if (names === null && wildcards === null) return null;
  return [
    ...Array.from({ length: names ?? 0 }, (_, at) => `name${at}.counted.example.org`),
    ...Array.from({ length: wildcards ?? 0 }, (_, at) => `*.wildcard${at}.counted.example.org`),
  ];
}

function countOf(given: Arguments, param: string): number | null {
  const text = given.text(param) ?? '';
  if (text === '') return null;
  if (/^\d{1,3}$/.test(text) && Number(text) < mostNames) return Number(text);
  throw badParam(param, 'bad_param', `must be a number of names below ${mostNames}.`);
}
