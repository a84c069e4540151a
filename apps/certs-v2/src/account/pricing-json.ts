import type { Product } from '@certwright/issuance';
import type { Quote } from '@certwright/ordering';
import type { CertType } from '../cert-objects/cert-object';

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

export function pricingJson({ type, product, dnsNames, quote, payment }: Pricing) {
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
