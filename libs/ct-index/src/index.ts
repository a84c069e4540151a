export { bodyDeflation, bodyPackings, packBody, unpackBody } from './body';
export { type IssuanceBody, issuanceBodies } from './issuance-bodies';
export { type StoredIssuance, issuanceAt, pageOfAll, pageOfKeys } from './issuance-pages';
export { type IssuancePage, issuancesAt } from './issuances-at';
export { concernedIssuances } from './monitoring/concerned-issuances';
export {
  type IssuancesToMatch,
  type IssuanceToMatch,
  issuancesToMatch,
  issuancesToMatchAt,
} from './monitoring/issuances-to-match';
export { casNamed } from './monitoring/known-cas';
export { loggedFacts } from './monitoring/logged-facts';
export { newestOddEntries, oddEntriesAfter, type OddLogEntry } from './monitoring/odd-entries';
export { indexRange, positionsOf, tbsSha256At } from './monitoring/places';
export {
  beginWatchedTerm,
  changeWatchedNames,
  watchedNames,
  watchedVersion,
} from './monitoring/watched-names';
export { type NewIssuance, type NewIssuer, noEnd } from './new-issuance';
export {
  type Lookup,
  type PageReader,
  pageSession,
  preparedPageSession,
  readingAlone,
  SettledHomes,
} from './page-reader';
export { addRevocations } from './packed-issuances';
export { dropExpired, ensurePartitions } from './partitions';
export { shrinkExpired } from './shrink-partitions';
export { CrlIds, maxCrlsPerIssuer, maxHostsPerIssuer } from './revocations/crl-ids';
export {
  type NamedList,
  type RevocationFacts,
  coverageIn,
  revocationFacts,
} from './revocations/revocation-facts';
export { type MergeLane } from './runs/choose-merge';
export { type Merged, mergeRuns } from './runs/merge-runs';
export { RecentBlocks } from './runs/recent-blocks';
export { RunFilters } from './runs/run-filters';
export {
  areIdsStored,
  IssuerIds,
  type Stored,
  type StoredPlaces,
  crlsOf,
  storeIssuances,
} from './store-issuances';
export { type StreamEnd, positionBefore, streamEnd } from './stream-place';
