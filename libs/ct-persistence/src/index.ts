export { type CtDatabase, ctDataSource, ctDataSourceOptions } from './ct-data-source';
export { type BodyPacking, bodyPackings, packBody, unpackBody } from './index/body';
export {
  issuanceAt,
  pageOfAll,
  pageOfKeys,
  type PageRequest,
  type StoredIssuance,
} from './index/issuance-pages';
export { type NewIssuance, type NewIssuer, noEnd } from './index/new-issuance';
export { defaultPositionsPerPartition, dropExpired, ensurePartitions } from './index/partitions';
export { IssuerIds, type Stored, storeIssuances } from './index/store-issuances';
export { CtIssuerEntity } from './issuers/ct-issuer.entity';
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
