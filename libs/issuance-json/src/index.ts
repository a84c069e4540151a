export { type Certificate, certificateOf, publicKeyOf, spkiDerOf } from './certificate';
export { expandedNames, issuanceExpansion, type IssuanceExpansion, type IssuerExpansion } from './expansion';
export {
  type IssuanceFacts,
  issuanceJson,
  IssuanceSchema,
  needsCertificate,
  needsIssuer,
} from './issuance-json';
export { type Issuer, issuerJson, issuerOf, IssuerSchema } from './issuer';
export { KnownCoverage } from './known-coverage';
export { KnownIssuers } from './known-issuers';
export { PresentIssuances, type PresentedPage } from './present-issuances';
export { hexDigest, instant, integer, orNull, text } from './schema-options';
export { timestamp, timestampOrNull } from './timestamp';
