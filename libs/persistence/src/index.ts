export { AccountUserEntity } from './accounts/account-user.entity';
export { AccountEntity } from './accounts/account.entity';
export { AccountUsers, type FoundUser } from './accounts/account-users';
export { type Account, Accounts, type AccountSubject, type MailSettings } from './accounts/accounts';
export { ApiCredentials, type FreshApiKey } from './accounts/api-credentials';
export { ApiKeyEntity } from './accounts/api-key.entity';
export { ApiKeys, type FoundApiKey } from './accounts/api-keys';
export { ClusterEntity } from './accounts/cluster.entity';
export { Clusters } from './accounts/clusters';
export { type Announce, AnnouncementRound } from './announcements/announcement-round';
export { Announcements, type Unannounced, type UnannouncedPlans } from './announcements/announcements';
export { ApprovalRecords } from './approval-records/approval-records';
export { type DueRecord, type LeasedRecord, LeasedRecords } from './approval-records/leased-records';
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
export { coreSchema } from './roles/core-schema';
export { CorePersistenceModule } from './core-persistence.module';
export { type DelegationLabels, Delegations } from './delegations/delegations';
export { awaitDeployment, claimDeployment, type DeploymentMode } from './deployment/deployment';
export {
  type DnsIntegration,
  DnsIntegrations,
  mostDnsIntegrations,
  type NewDnsIntegration,
} from './dns-integrations/dns-integrations';
export {
  type IntegrationLease,
  IntegrationLeaseLost,
  type IntegrationProgress,
  type IntegrationState,
  type LeasedIntegration,
} from './dns-integrations/integration-lease';
export {
  type AfterSaving,
  type DueIntegration,
  LeasedIntegrations,
} from './dns-integrations/leased-integrations';
export { nextZonesAt } from './dns-integrations/zone-refresh';
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
  type RepeatableAnswer,
} from './idempotency/idempotency-records';
export { type Keeping, RepeatableRequests, type WriteRequest } from './idempotency/repeatable-requests';
export {
  type BodyFingerprint,
  type ReservableRequest,
  type Reservation,
  ReservedRequests,
} from './idempotency/reserved-requests';
export { type IssuanceStatistics, IssuanceStatisticsReader } from './issuances/issuance-statistics';
export { Issuances, type LatestIssuance, type OpenIssuance, type RecordOfPlan } from './issuances/issuances';
export { type Lease, type LeasedWork, LeaseLost } from './issuances/lease';
export { type DueIssuance, type IssuanceProgress, LeasedIssuances } from './issuances/leased-issuances';
export { WaitingIssuances } from './issuances/waiting-issuances';
export { type DueSubmission, type LogPromise, LogSubmissions } from './log-submissions/log-submissions';
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
  type InvoiceSubject,
  type IssuedSubject,
  MailSubjects,
  type PlanSubject,
  type RevokedSubject,
  type UnpaidSubject,
} from './mail/mail-subjects';
export { type MailKind, mailKinds } from './mail/mail.entity';
export { Mails } from './mail/mails';
export { ExpirationNotices, type NoticeRound } from './notices/expiration-notices';
export { OrderV3Entity } from './orders-v3/order-v3.entity';
export { Outbox } from './outbox/outbox';
export { type NewPlan, type NewTerms, type PlanChange, Plans } from './plans/plans';
export { ProductEntity } from './products/product.entity';
export { Products } from './products/products';
export { type RenewalRound, Renewals, type UnpaidRenewal } from './renewals/renewals';
export { type PendingRevocation, PendingRevocations } from './revocations/pending-revocations';
export { type RevocationRequest, Revocations } from './revocations/revocations';
export { SearchPlanEntity } from './search-plans/search-plan.entity';
export { SearchPlans, type SearchPlanTerms, type SearchSubscription } from './search-plans/search-plans';
export { SearchSubscriptionEntity } from './search-plans/search-subscription.entity';
export { withinDatabaseTime, withoutDatabaseTime } from './transactions/database-time';
export { isUniqueViolation } from './transactions/database-error';
export { WriteConnections } from './transactions/write-connections';
export { Transactions, type Tx } from './transactions/transactions';
export { type HttpChallenge, HttpChallenges } from './web-rules/http-challenges';
export { WebRules } from './web-rules/web-rules';
export {
  type DeliveredAttempt,
  type DeliveryBounds,
  type DeliveryLease,
  type EndpointHealth,
  type LeasedBatch,
  type LeasedDelivery,
  type LeaseRequest,
  type TriedDelivery,
  type WaitingEndpoint,
  type WebhookAttempt,
} from './webhooks/delivery-lease';
export { LeasedDeliveries } from './webhooks/leased-deliveries';
export { type NewWebhookDelivery, WebhookDeliveries } from './webhooks/webhook-deliveries';
export { type DeliveryState, deliveryStates } from './webhooks/webhook-delivery.entity';
export {
  mostWebhookEndpoints,
  type NewWebhookEndpoint,
  type WebhookEndpoint,
  type WebhookEndpointChange,
  WebhookEndpoints,
} from './webhooks/webhook-endpoints';
export { freshDeliveryId, type PlanEvent, WebhookFanOut } from './webhooks/webhook-fan-out';
export { type LoggedDelivery, WebhookLog } from './webhooks/webhook-log';
export { type AcmeChallenge, AcmeOrderEntity } from './acme/acme-order.entity';
export {
  acmeReference,
  AcmeOrders,
  type NewAcmeOrder,
  OrderTaken,
  type ReplacedCertificate,
} from './acme/acme-orders';
export { CaAccountEntity } from './acme/ca-account.entity';
export { CaAccounts } from './acme/ca-accounts';
export {
  CertificateAuthorities,
  type CertificateAuthorityChange,
  type NewCertificateAuthority,
} from './acme/certificate-authorities';
export {
  type CaLimit,
  type CaLimits,
  type CaOutage,
  CertificateAuthorityEntity,
} from './acme/certificate-authority.entity';
export { type AnsweredRenewalInfo, type DueRenewalInfo, RenewalInfos } from './acme/renewal-infos';
export {
  CaLimitBuckets,
  type CaLimitKind,
  type CaLimitNeed,
  type CaLimitTaken,
} from './ca-limits/ca-limit-buckets';
export { type ChallengeFile, type ChallengeRecord, Challenges } from './challenges/challenges';
export {
  HostedChallengeRecords,
  type HostedRecord,
  type RecordKey,
} from './challenges/hosted-challenge-records';
export { ApiCredentialEntity } from './accounts/api-credential.entity';
export { CertObjectV2Entity, type StoredSan } from './certs-v2/cert-object-v2.entity';
export { type PlanOwner, planOwners } from './plans/plan.entity';
export { AccountBalanceEntity } from './purchases/account-balance.entity';
export { ChargeEntity } from './purchases/charge.entity';
export { InvoiceEntity, type InvoiceLine } from './purchases/invoice.entity';
export { LedgerEntryEntity } from './purchases/ledger-entry.entity';
export { type Balance, Balances } from './purchases/balances';
export { type Invoice, Invoices } from './purchases/invoices';
export { type Booking, Ledger, type LedgerEntry } from './purchases/ledger';
export {
  type PurchasedIssuance,
  Purchases,
  type PurchaseTerms,
  type Quote,
  type QuoteRequest,
} from './purchases/purchases';
export { UnusedCharges } from './purchases/unused-charges';
export { UnpaidRenewals } from './renewals/unpaid-renewals';
