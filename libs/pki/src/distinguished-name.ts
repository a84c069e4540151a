import type { DerElement } from './der/der-element';
import { DerReader } from './der/der-reader';
import { objectIdentifierValue, textValue } from './der/der-values';

const commonName = '2.5.4.3';
const countryName = '2.5.4.6';

export interface DistinguishedName {
  /** DER of the whole Name, for comparing issuers and subjects. */
  readonly der: Uint8Array;
  /** Every common name, in order; software that prompts for each part of a subject writes empty ones. */
  readonly commonNames: readonly string[];
  /** Every country, in order; may be empty, as above. */
  readonly countries: readonly string[];
}

/** Reads a Name (RFC 5280, section 4.1.2.4). Attributes other than the two are checked for their shape only. Throws DerError. */
export function readDistinguishedName(element: DerElement, what: string): DistinguishedName {
  const commonNames: string[] = [];
  const countries: string[] = [];
  for (const relativeName of DerReader.sequence(element, what).rest(0, 'parts')) {
    const attributes = DerReader.setOf(relativeName, `a part of ${what}`).rest(1, 'attribute');
    for (const attribute of attributes) {
      const reader = DerReader.sequence(attribute, `an attribute of ${what}`);
      const type = objectIdentifierValue(reader.next('type'), `an attribute type of ${what}`);
      const value = reader.next('value');
      reader.end();
      if (type === commonName) commonNames.push(textValue(value, `the common name of ${what}`));
      if (type === countryName) countries.push(textValue(value, `the country of ${what}`));
    }
  }
  return { der: element.raw, commonNames, countries };
}
