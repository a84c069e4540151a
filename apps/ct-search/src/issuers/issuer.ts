import {
  attributeText,
  commonNameType,
  formatDistinguishedName,
  organizationType,
  readDistinguishedName,
} from '@certwright/ct';
import type { IssuerView } from '@certwright/issuer-profiles';

/** An issuer, with what its name says read once. */
export interface Issuer extends IssuerView {
  readonly friendlyName: string;
  /** RFC 2253. */
  readonly name: string;
}

/** What an issuer is called of which nothing is known: an entry without a chain, whose issuer name is empty. */
const nameless = 'Unknown issuer';

export function issuerOf(view: IssuerView): Issuer {
  const name = formatDistinguishedName(view.nameDer);
  return { ...view, name, friendlyName: view.friendlyName ?? friendlyName(view.nameDer, name) };
}

/** Where nobody has curated one: what the issuer calls itself. */
function friendlyName(nameDer: Buffer, name: string): string {
  const levels = readDistinguishedName(nameDer) ?? [];
  const own = attributeText(levels, organizationType) ?? attributeText(levels, commonNameType) ?? name;
  return own.trim() === '' ? nameless : own;
}
