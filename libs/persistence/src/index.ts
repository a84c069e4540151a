export { AccountUserEntity } from './accounts/account-user.entity';
export { AccountEntity } from './accounts/account.entity';
export { ApiKeyEntity } from './accounts/api-key.entity';
export { ApiKeys, type FoundApiKey } from './accounts/api-keys';
export { ClusterEntity } from './accounts/cluster.entity';
export { Clusters } from './accounts/clusters';
export { BlockedKeys } from './blocked-keys/blocked-keys';
export { type CaCertificates, CaIssuers } from './built-in-ca/ca-issuers';
export { CaSignings, type SigningIntent } from './built-in-ca/ca-signings';
export {
  type RevocationListDraft,
  RevocationLists,
  type RevokedSerial,
} from './built-in-ca/revocation-lists';
export { type Attachment, Attachments } from './certificates/attachments';
export { Certificates, type StoredCertificate } from './certificates/certificates';
export { type CoreDatabase, coreDataSource, coreDataSourceOptions } from './core-data-source';
export { CorePersistenceModule } from './core-persistence.module';
export { type DelegationLabels, Delegations } from './delegations/delegations';
export { claimDeployment, type DeploymentMode } from './deployment/deployment';
export { type ApprovalRequest, type ClosedLink, type LinkFinding } from './email-approvals/approval-links';
export {
  type Asked,
  type AskedMailbox,
  EmailApprovals,
  type Mailbox,
} from './email-approvals/email-approvals';
export {
  type IdempotentRequest,
  IdempotencyRecords,
  type StoredAnswer,
} from './idempotency/idempotency-records';
export { type IssuanceStatistics, IssuanceStatisticsReader } from './issuances/issuance-statistics';
export { Issuances, type LatestIssuance, type OpenIssuance } from './issuances/issuances';
export { type Lease, type LeasedWork, LeaseLost } from './issuances/lease';
export { type DueIssuance, type IssuanceProgress, LeasedIssuances } from './issuances/leased-issuances';
export {
  type DueMail,
  LeasedMails,
  type LeasedMail,
  type MailLease,
  type SentMail,
} from './mail/leased-mails';
export { type MailFacts, type NewMail } from './mail/mail-facts';
export {
  type ApprovalSubject,
  type DisabledSubject,
  type ExpirationSubject,
  MailSubjects,
} from './mail/mail-subjects';
export { type MailKind, mailKinds } from './mail/mail.entity';
export { Mails } from './mail/mails';
export { ExpirationNotices, type NoticeRound } from './notices/expiration-notices';
export { OrderV3Entity } from './orders-v3/order-v3.entity';
export { Outbox } from './outbox/outbox';
export { type NewPlan, type NewTerms, type PlanChange, Plans } from './plans/plans';
export { ProductEntity } from './products/product.entity';
export { Products } from './products/products';
export { type RenewalRound, Renewals } from './renewals/renewals';
export { type PendingRevocation, PendingRevocations } from './revocations/pending-revocations';
export { type RevocationRequest, Revocations } from './revocations/revocations';
export { databaseProblem, isUniqueViolation } from './transactions/database-error';
export { Transactions, type Tx } from './transactions/transactions';
export { type HttpChallenge, HttpChallenges } from './web-rules/http-challenges';
export { WebRules } from './web-rules/web-rules';
export {
  type DeliveryBounds,
  type DeliveryLease,
  type EndpointHealth,
  type LeasedDelivery,
  type TriedDelivery,
  type WebhookAttempt,
} from './webhooks/delivery-lease';
export { type DueDelivery, LeasedDeliveries } from './webhooks/leased-deliveries';
export { type NewWebhookDelivery, WebhookDeliveries } from './webhooks/webhook-deliveries';
export { type DeliveryState, deliveryStates } from './webhooks/webhook-delivery.entity';
export {
  mostWebhookEndpoints,
  type NewWebhookEndpoint,
  type WebhookEndpoint,
  type WebhookEndpointChange,
  WebhookEndpoints,
} from './webhooks/webhook-endpoints';
export { type LoggedDelivery, WebhookLog } from './webhooks/webhook-log';
