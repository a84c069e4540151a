export { ctSchema } from './roles/ct-schema';
export { type CtDatabase, ctDataSource, ctDataSourceOptions } from './ct-data-source';
export { bodyDeflation, type BodyPacking, bodyPackings, packBody, unpackBody } from './index/body';
export { issuanceBodies, type IssuanceBody } from './index/issuance-bodies';
export {
  issuanceAt,
  pageOfAll,
  pageOfKeys,
  type PageRequest,
  type StoredIssuance,
} from './index/issuance-pages';
export { type IssuancePage } from './index/issuances-at';
export { type NewIssuance, type NewIssuer, noEnd } from './index/new-issuance';
export { type Lookup, type PageReader, pageSession, readingAlone } from './index/page-reader';
export { defaultPositionsPerPartition, dropExpired, ensurePartitions } from './index/partitions';
export { type MergeLane } from './index/runs/choose-merge';
export { clearMerged, type Merged, mergeRuns } from './index/runs/merge-runs';
export { SettledHomes } from './index/runs/settled-homes';
export { positionBefore, streamEnd, type StreamEnd } from './index/stream-place';
export { crlsOf, IssuerIds, type Stored, storeIssuances } from './index/store-issuances';
export { type CcadbFile, type CcadbRecord, type ProfileFacts, readCcadb } from './issuers/ccadb-records';
export { CsvFault } from './issuers/csv';
export { CtIssuerProfileEntity } from './issuers/ct-issuer-profile.entity';
export { CtIssuerEntity } from './issuers/ct-issuer.entity';
export { knownOrganizationsAsOf } from './issuers/known-organizations';
export { type ImportedFrom, type ImportResult, IssuerProfiles } from './issuers/keep-profiles';
export { issuerViews, type IssuerView } from './issuers/issuer-profiles';
export { CtLogEntity, type CtLogKind } from './logs/ct-log.entity';
export { CtOddEntryEntity } from './logs/ct-odd-entry.entity';
export {
  CtLogs,
  type IngestedBatch,
  type LeasedLog,
  type ListedLog,
  type LogLease,
  LogLeaseLost,
  type OddEntry,
  type SignedHead,
} from './logs/ct-logs';
export { CtLogEvidenceEntity, type EvidenceKind } from './logs/ct-log-evidence.entity';
export { evidenceOf, type LogEvidence } from './logs/log-evidence';
export { logReports, type LogReport } from './logs/log-reports';
export {
  type Forgotten,
  type LeftAlone,
  LogLeftAlone,
  restartLog,
  resumeLog,
  wakeLog,
} from './logs/start-again';
export { removeUnverified } from './logs/unverified';
export { type Applied, type ListedRevocation, type VerifiedCrl } from './revocations/apply-crl';
export { CrlHosts } from './revocations/crl-hosts';
export { CrlIds } from './revocations/crl-ids';
export { type HostLease, HostLeaseLost } from './revocations/host-lease';
export { type CrlCounts, CtCrls, type DueCrl, type StaleCrl } from './revocations/ct-crls';
export { CtCrlEntity } from './revocations/ct-crl.entity';
export {
  type Coverage,
  coverageIn,
  type NamedList,
  type Revocation,
  revocationFacts,
  type RevocationFacts,
} from './revocations/revocation-facts';
export { endSilentClients } from './silent-clients';
