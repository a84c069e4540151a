export { type CoreProcess, CoreSchemaModule, OwnDeployment } from './core-schema.module';
export { AccountUserEntity } from './accounts/account-user.entity';
export { AccountEntity } from './accounts/account.entity';
export { ApiKeyEntity } from './accounts/api-key.entity';
export { type AcmeChallenge, AcmeOrderEntity } from './acme/acme-order.entity';
export { CaAccountEntity } from './acme/ca-account.entity';
export {
  type CaLimit,
  type CaLimits,
  type CaOutage,
  CertificateAuthorityEntity,
} from './acme/certificate-authority.entity';
export { CaLimitBucketEntity } from './ca-limits/ca-limit-bucket.entity';
export { type StoredSan } from './certs-v2/cert-object-v2.entity';
export { coreDataSource } from './core-data-source';
export { claimDeployment } from './deployment/deployment';
export { findHold, issuancesAreHeld, watchTimeline } from './deployment/issuance-hold';
export { isAdvanced, isOpen, isToCollect, type Lease, underLease } from './leases/issuance-lease';
export type { KeyRequestReason } from './managed-orders/managed-key.entity';
export { type ServedCertificate } from './managed-orders/rollout.entity';
export { type MailKind } from './mail/mail.entity';
export { type MonitoringChangeEntity } from './monitoring/monitoring-change.entity';
export type { EndpointReportKind } from './monitoring/endpoint-report.entity';
export { type BackfillState, backfillStates } from './monitoring/monitoring-backfill.entity';
export {
  type FindingAlert,
  type FindingEndpoint,
  type FindingReason,
  findingReasons,
  type FindingSource,
  type FindingState,
  findingStates,
} from './monitoring/monitoring-finding.entity';
export type { MonitoringTaskName } from './monitoring/monitoring-task.entity';
export { CertificateMails1796169600000 } from './migrations/1796169600000-certificate-mails';
export { baseNameInSql } from './names/base-name';
export { Outbox, addJobsToOutbox, addToOutbox } from './outbox/outbox';
export { OutboxWrites, writesToOutbox } from './outbox/outbox-writes';
export { type StrayProblem } from './monitoring/stray-certificate.entity';
export { type PlanOwner } from './plans/plan.entity';
export { ProductEntity } from './products/product.entity';
export { AccountBalanceEntity } from './purchases/account-balance.entity';
export { ChargeEntity, type PaidBefore } from './purchases/charge.entity';
export { InvoiceEntity, type InvoiceLine } from './purchases/invoice.entity';
export { LedgerEntryEntity } from './purchases/ledger-entry.entity';
export { SearchPlanEntity } from './search-plans/search-plan.entity';
export { SearchSubscriptionEntity } from './search-plans/search-subscription.entity';
export { Batches } from './transactions/batches';
export { isForeignKeyViolation, isUniqueViolation } from './transactions/database-error';
export { inOwnTime, withinDatabaseTime, withoutDatabaseTime } from './transactions/database-time';
export { JointWork, together } from './transactions/joint-work';
export { inOrderOf, keysOf, SharedReads } from './transactions/shared-reads';
export { tracedColumns } from './transactions/traceparent';
export { Transactions, type Tx } from './transactions/transactions';
export { WriteConnections } from './transactions/write-connections';
export { type DeliveryState, deliveryStates } from './webhooks/webhook-delivery.entity';
export { WebhookEndpointEntity } from './webhooks/webhook-endpoint.entity';
export { coreSchema } from './roles/core-schema';
export {
  type ApprovalRequest,
  type ClosedLink,
  findingOf,
  type LinkFinding,
  type LinkJson,
  linkOfJson,
  linkOfToken,
  type LinkRow,
  linkStatement,
  useLink,
} from './email-approvals/approval-links';
export { requiresMailbox, wantedApproval } from './email-approvals/wanted-approval';
export {
  requestMailsAgain,
  type MailRequest,
  linkLifeMs,
  nextMailAt,
  throttledUntil,
  throttleWindowMs,
  wantsMail,
} from './email-approvals/mail-requests';
export { checkRequested, requestRecordChecks } from './approval-records/record-checks';
export { wakePlan, wakeWhere } from './issuances/wake-statements';
