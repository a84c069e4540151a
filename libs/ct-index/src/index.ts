export { bodyDeflation, bodyPackings, packBody, unpackBody } from './body';
export { type IssuanceBody, issuanceBodies } from './issuance-bodies';
export { type StoredIssuance, issuanceAt, pageOfAll, pageOfKeys } from './issuance-pages';
export { type IssuancePage } from './issuances-at';
export { type NewIssuance, type NewIssuer, noEnd } from './new-issuance';
export { type Lookup, type PageReader, pageSession, readingAlone, SettledHomes } from './page-reader';
export { dropExpired, ensurePartitions } from './partitions';
export { CrlIds, maxCrlsPerIssuer, maxHostsPerIssuer } from './revocations/crl-ids';
export {
  type NamedList,
  type RevocationFacts,
  coverageIn,
  revocationFacts,
} from './revocations/revocation-facts';
export { type MergeLane } from './runs/choose-merge';
export { type Merged, clearMerged, mergeRuns } from './runs/merge-runs';
export { IssuerIds, type Stored, type StoredPlaces, crlsOf, storeIssuances } from './store-issuances';
export { type StreamEnd, positionBefore, streamEnd } from './stream-place';
