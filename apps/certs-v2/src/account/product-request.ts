import type { Product } from '@certwright/issuance';
import type { CertType } from '../cert-objects/cert-object';
import type { ProductsByType } from '../cert-objects/cert-products';
import { badParam, missingParam } from '../wire/arguments';
import { readCommonName } from '../wire/common-name';
import { readOnce } from '../wire/page';
import { Refusal } from '../wire/reasons';

/** @throws Refusal `bad_type` */
export function readType(type: string): CertType {
  if (type === 'dv' || type === 'ev') return type;
  throw badParam('type', 'bad_type', 'must be dv or ev.');
}

/** The common name in a query. @throws Refusal `missing_param`, `bad_param`, `bad_cn` */
export function readQueriedName(cn: unknown): string {
  const text = readOnce(cn, 'cn');
  if (text === null) throw missingParam('cn');
  return readCommonName(text);
}

/** @throws Refusal `product_unavailable` */
export function productOf(products: ProductsByType, type: CertType): Product {
  const product = products[type];
  if (product?.available) return product;
  throw new Refusal('product_unavailable', `Certificates of the type ${type} are not sold at present.`, {
    param: 'type',
  });
}
