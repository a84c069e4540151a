import type { ApprovalMethod } from '@certwright/issuance';
import { Injectable } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { defaultSanOf } from '../cert-objects/cert-object';
import { approvalMethods } from '../wire/approval-json';
import { ApiInteger, ApiList, ApiNullable } from '../wire/openapi/members';
import { PaymentJson } from './pricing-json';
import type { OfferQuery } from './product-query';
import { QuoteCertificate } from './quote-certificate.use-case';
import { RetrieveApprovalMethods } from './retrieve-approval-methods.use-case';

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

/** Price and approval of one product for one name, which clients up to version 1.7 request together. */
@Injectable()
export class RetrieveProduct {
  constructor(
    private readonly quoting: QuoteCertificate,
    private readonly approval: RetrieveApprovalMethods,
  ) {}

  /** @throws Refusal `bad_sans`, `product_unavailable` */
  async run(accountId: string, query: OfferQuery): Promise<ProductOfferJson> {
    const { type, cn } = query;
    const pricing = await this.quoting.run(accountId, type, cn, countedSans(query), 'sans');
    const { duration, price } = pricing;
    const isOfYears = pricing.duration_unit === 'year';
    const ways = await this.approval.run(accountId, query);
    return {
      cn,
      // With the common name: clients use them to determine which names of a certificate need no SAN object.
      default_sans: [cn, defaultSanOf(cn)],
      description: pricing.description,
      ...(isOfYears ? { years: duration } : {}),
      price: {
        currency: pricing.currency,
        base_price: isOfYears ? Math.ceil(price / duration) : price,
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
 * As many names as are counted, each of which is paid for. Never cheaper than what is bought.
 *
 * @returns null: default SANs
 */
function countedSans({ sans: names, wildcard_sans: wildcards }: OfferQuery): readonly string[] | null {
  if (names === undefined && wildcards === undefined) return null;
  return [
    ...Array.from({ length: names ?? 0 }, (_, at) => `name${at}.counted.example.org`),
    ...Array.from({ length: wildcards ?? 0 }, (_, at) => `*.wildcard${at}.counted.example.org`),
  ];
}
