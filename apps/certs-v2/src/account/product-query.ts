import { parseDnsName } from '@certwright/dns-names';
import type { Product } from '@certwright/issuance';
import { type CertType, defaultSanOf } from '../cert-objects/cert-object';
import { readType } from '../cert-objects/cert-object-request';
import type { ProductsByType } from '../cert-objects/cert-products';
import { FlagArgument, IntegerArgument, RepeatableArgument, Required, TextArgument } from '../wire/arguments';
import { CommonNameArgument } from '../wire/common-name';
import { QueryArgument } from '../wire/page';
import { Refusal } from '../wire/reasons';

export class PricingQuery {
  @Required() @CommonNameArgument() cn: string;
  @QueryArgument('dv or ev; default dv.', readType) type?: CertType;
  @FlagArgument({ description: 'Whether the names of san are taken in place of default SANs.' })
  custom_sans?: boolean;
  @RepeatableArgument({ description: 'Repeatable.' }, textsIn) san?: readonly string[];
}

function textsIn(values: readonly unknown[]): readonly string[] {
  return values.filter((value) => typeof value === 'string');
}

/** The common name, and the type that is in the path. */
export class ProductQuery {
  @TextArgument(null, readType) type: CertType;
  @Required() @CommonNameArgument() cn: string;
}

/** A certificate has 100 names at most, whatever the product. */
const maxFurtherNames = 99;

/** Clients up to version 1.7 send how many further names there are, not which. */
export class OfferQuery extends ProductQuery {
  @IntegerArgument(0, maxFurtherNames, {
    description: 'How many further names there are; without it and wildcard_sans default SANs.',
  })
  sans?: number;
  @IntegerArgument(0, maxFurtherNames, { description: 'How many further wildcard names there are.' })
  wildcard_sans?: number;
}

/**
 * The names that a certificate would have, the common name first; what an object would be refused for is refused here.
 *
 * @param sans as callers write them; null: default SANs
 * @param param name of the parameter that the SANs are of
 * @throws Refusal `bad_sans`
 */
export function pricedNames(
  cn: string,
  sans: readonly string[] | null,
  maxNames: number,
  param: string,
): readonly string[] {
  const badSans = (message: string) => new Refusal('bad_sans', message, { param });
  const added = sans ?? [defaultSanOf(cn)];
  if (added.length >= maxNames) {
    throw badSans(
      `A certificate of this type has ${maxNames} names at most; it would have ${added.length + 1}.`,
    );
  }
  const names = new Set([cn]);
  for (const text of added) {
    const parsed = parseDnsName(text);
    if (!parsed.ok) throw badSans(parsed.message);
    if (names.has(parsed.name)) throw badSans(`${parsed.name} would be in the certificate twice.`);
    names.add(parsed.name);
  }
  return [...names];
}

/** @throws Refusal `product_unavailable` */
export function productOf(products: ProductsByType, type: CertType): Product {
  const product = products[type];
  if (product?.available) return product;
  throw new Refusal('product_unavailable', `Certificates of the type ${type} are not sold at present.`, {
    param: 'type',
  });
}
