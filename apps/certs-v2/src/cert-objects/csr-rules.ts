import { quoteInput } from '@certwright/dns-names';
import type { Product } from '@certwright/issuance';
import { type Csr, checkCsr } from '@certwright/pki';
import { messageOfCsrFault } from '../wire/outcome-messages';
import { reasonOfFault } from '../wire/problem';
import { Refusal } from '../wire/reasons';
import { type CertObject, dnsNamesOf } from './cert-object';
import { countryCodes } from './country-codes';

const param = 'csr';

/**
 * The requirements on a CSR: a key that the product accepts, the signature of that key, and a subject with a country
 * and the object's common name. Other contents of the CSR are ignored, unless the product requires every name in it.
 *
 * @param keyBlocked the key is known to be compromised
 * @throws Refusal for the first that is not met
 */
export function assertCsrFits(csr: Csr, object: CertObject, product: Product, keyBlocked: boolean): void {
  const rule = { mustNameEveryDnsName: product.csrNamesEveryDnsName, keys: product };
  const expectations = { keyType: undefined, dnsNames: dnsNamesOf(object), rule };
  const [fault] = checkCsr(csr, expectations, { keyBlocked });
  if (fault !== undefined) {
    throw new Refusal(reasonOfFault[fault.code], messageOfCsrFault(fault), { param });
  }
  assertCountry(csr.countries);
  assertCommonName(csr.commonNames, object.cn);
}

/** X.520 requires two letters, as in ISO 3166-1: in upper case. */
function assertCountry(countries: readonly string[]): void {
  const [country] = countries;
  if (country !== undefined && countries.length === 1 && countryCodes.has(country)) return;
  const found =
    country === undefined
      ? 'has none'
      : countries.length > 1
        ? `has ${countries.length}`
        : `has ${quoteInput(country)}`;
  const message = `The subject of the CSR ${found}; it must have C once, with a country code of ISO 3166-1 such as US.`;
  throw new Refusal('bad_country', message, { param });
}

/** Compared case-insensitively. Exactly one: with two, the certificate's name would be ambiguous. */
function assertCommonName(commonNames: readonly string[], cn: string): void {
  const [commonName] = commonNames;
  // Only ASCII: U+212A folds to k.
  const lowerCase = commonName?.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  if (lowerCase === cn && commonNames.length === 1) return;
  const found =
    commonName === undefined
      ? 'has no CN'
      : commonNames.length > 1
        ? `has ${commonNames.length} CNs`
        : `has the CN ${quoteInput(commonName)}`;
  throw new Refusal('bad_cn', `The subject of the CSR ${found}; it must be ${cn}.`, { param });
}
