import type { Product } from '@certwright/issuance';
import { readCsr } from '@certwright/pki';
import { badParam } from '../wire/arguments';
import type { CertObject } from './cert-object';
import { type Changes, changesOf, modifiedCertObject, newCertObject } from './cert-object-draft';
import { badCsr, type CertObjectRequest } from './cert-object-request';
import { assertNamesFit } from './cert-object-rules';
import type { ProductsByType } from './cert-products';
import { assertCsrFits } from './csr-rules';

/** What had to be looked up. */
export interface DesiredFacts {
  readonly products: ProductsByType;
  /** The key of the CSR that was sent is known to be compromised. */
  readonly keyBlocked: boolean;
}

const everything: Changes = { approvals: true, terms: true, any: true };

/**
 * The object that a request makes of the one there is. A rule that it no longer keeps, since the product changed after it
 * was made, stands in the way only of changes of what the rule is about.
 *
 * @param before null: the account has no object of this common name
 * @throws Refusal for the first thing that is wrong
 */
export function desiredCertObject(
  before: CertObject | null,
  cn: string,
  request: CertObjectRequest,
  { products, keyBlocked }: DesiredFacts,
): CertObject {
  const after = before === null ? newCertObject(cn, request) : modifiedCertObject(before, request);
  const changes = before === null ? everything : changesOf(before, after);
  if (!changes.terms) return after;
  const product = productOf(before, after, products);
  if (changes.approvals) assertNamesFit(after, product);
  if (request.csr !== undefined) assertCsrFits(request.csr, after, product, keyBlocked);
  else assertStoredCsrFits(after, product);
  return after;
}

/** What is no longer sold can still be reissued, but nothing comes to it. */
function productOf(before: CertObject | null, after: CertObject, products: ProductsByType): Product {
  const product = products[after.type];
  if (product !== null && (product.available || before?.type === after.type)) return product;
  throw badParam('type', 'bad_type', `${after.type} is not offered here at present; choose another type.`);
}

/** Its names may have become others, or its product one that does not take its key. Of the key's history nothing is asked. */
function assertStoredCsrFits(object: CertObject, product: Product): void {
  const reading = readCsr(object.csr.der);
  if (!reading.ok) throw badCsr('The CSR of the object cannot be read any more; send a new one.');
  assertCsrFits(reading.csr, object, product, false);
}
