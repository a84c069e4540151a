export { certificateOf } from './certificate';
export { expandedNames, type IssuanceExpansion, issuanceExpansion } from './expansion';
export { type IssuanceFacts, issuanceJson, IssuanceSchema } from './issuance-json';
export { issuerOf } from './issuer';
export { KnownCoverage } from './known-coverage';
export { KnownIssuers } from './known-issuers';
export { PresentIssuances } from './present-issuances';
export { instant, integer, orNull, text } from './schema-options';
export { timestamp, timestampOrNull } from './timestamp';
