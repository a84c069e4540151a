import type { Product } from '@certwright/issuance';
import type { Quote } from '@certwright/ordering';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import type { CertType } from '../cert-objects/cert-object';
import { ApiInteger, ApiList, ApiNullable } from '../wire/openapi/members';

/** How an account pays: from its balance, or not at all as long as it has none. */
export type PaymentMethod = 'balance' | 'none';

export interface Pricing {
  readonly type: CertType;
  readonly product: Pick<Product, 'lifetimeDays'>;
  /** The common name first. */
  readonly dnsNames: readonly string[];
  readonly quote: Quote;
  readonly payment: PaymentMethod;
}

@ApiSchema({ name: 'Payment' })
export class PaymentJson {
  @ApiProperty({ type: String, description: 'balance or none.' }) method: PaymentMethod;
}

@ApiSchema({ name: 'Pricing' })
export class PricingJson {
  @ApiList(String, 'Names that the certificate would have.') dns_names: readonly string[];
  @ApiInteger('How long, in duration_unit.') duration: number;
  @ApiProperty({ description: 'year or day.' }) duration_unit: 'year' | 'day';
  @ApiProperty({ description: 'ISO 4217.' }) currency: string;
  @ApiInteger('In hundredths of the currency.') price: number;
  @ApiProperty({ description: 'What is sold.' }) description: string;
  @ApiNullable(PaymentJson, 'How it is paid for. Null when it costs nothing.') payment: PaymentJson | null;
}

export function pricingJson({ type, product, dnsNames, quote, payment }: Pricing): PricingJson {
  const { cents, currency, termDays } = quote;
  const [duration, unit] = durationOf(termDays ?? product.lifetimeDays);
  return {
    dns_names: dnsNames,
    duration,
    duration_unit: unit,
    currency,
    price: cents,
    // Without the duration: existing clients put it in front.
    description: descriptionOf(type, dnsNames),
    payment: cents === 0 ? null : { method: payment },
  };
}

const daysOfYear = 365;

function durationOf(days: number): readonly [number, 'year' | 'day'] {
  return days % daysOfYear === 0 ? [days / daysOfYear, 'year'] : [days, 'day'];
}

function descriptionOf(type: CertType, dnsNames: readonly string[]): string {
  const { length: count } = dnsNames;
  return `${type.toUpperCase()} certificate, ${count} ${count === 1 ? 'name' : 'names'}`;
}
