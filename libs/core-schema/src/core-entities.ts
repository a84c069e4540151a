import { AccountUserEntity } from './accounts/account-user.entity';
import { AccountEntity } from './accounts/account.entity';
import { ApiCredentialEntity } from './accounts/api-credential.entity';
import { ApiKeyEntity } from './accounts/api-key.entity';
import { ClusterEntity } from './accounts/cluster.entity';
import { AcmeOrderEntity } from './acme/acme-order.entity';
import { CaAccountEntity } from './acme/ca-account.entity';
import { CertificateAuthorityEntity } from './acme/certificate-authority.entity';
import { RenewalInfoEntity } from './acme/renewal-info.entity';
import { RevocationAttemptEntity } from './certificates/revocation-attempt.entity';
import { ApprovalRecordUseEntity } from './approval-records/approval-record-use.entity';
import { ApprovalRecordEntity } from './approval-records/approval-record.entity';
import { BlockedKeyEntity } from './blocked-keys/blocked-key.entity';
import { CaIssuerEntity } from './built-in-ca/ca-issuer.entity';
import { CaKeyEntity } from './built-in-ca/ca-key.entity';
import { CaSigningEntity } from './built-in-ca/ca-signing.entity';
import { CaLimitBucketEntity } from './ca-limits/ca-limit-bucket.entity';
import { CertificateChainEntity } from './certificates/certificate-chain.entity';
import { CertificateEntity } from './certificates/certificate.entity';
import { ChallengeFileEntity } from './challenges/challenge-file.entity';
import { ChallengeRecordEntity } from './challenges/challenge-record.entity';
import { DelegationEntity } from './delegations/delegation.entity';
import { DeploymentEntity } from './deployment/deployment.entity';
import { DnsIntegrationZoneEntity } from './dns-integrations/dns-integration-zone.entity';
import { DnsIntegrationEntity } from './dns-integrations/dns-integration.entity';
import { EmailApprovalTokenEntity } from './email-approvals/email-approval-token.entity';
import { EmailApprovalEntity } from './email-approvals/email-approval.entity';
import { IdempotencyRecordEntity } from './idempotency/idempotency-record.entity';
import { IssuanceEntity } from './issuances/issuance.entity';
import { LogSubmissionEntity } from './log-submissions/log-submission.entity';
import { MailEntity } from './mail/mail.entity';
import { AgentEntity, ClusterEnrolmentEntity } from './managed-orders/agent.entity';
import { KeyRequestEntity, ManagedKeyEntity, SealedKeyEntity } from './managed-orders/managed-key.entity';
import { ClusterReleaseEntity, InstallationEntity, RolloutEntity } from './managed-orders/rollout.entity';
import { KnownCertEntity } from './monitoring/known-cert.entity';
import { KnownKeyEntity } from './monitoring/known-key.entity';
import { MonitoredDomainEntity } from './monitoring/monitored-domain.entity';
import { MonitoringChangeEntity } from './monitoring/monitoring-change.entity';
import { EndpointHoldEntity } from './monitoring/endpoint-hold.entity';
import { EndpointReportEntity } from './monitoring/endpoint-report.entity';
import { StrayCertificateEntity } from './monitoring/stray-certificate.entity';
import { MonitoringTaskEntity } from './monitoring/monitoring-task.entity';
import {
  MonitoringFollowerEntity,
  MonitoringCheckpointEntity,
  MonitoringUnreadableCursorEntity,
} from './monitoring/monitoring-follower.entity';
import { MonitoringBackfillEntity } from './monitoring/monitoring-backfill.entity';
import { MonitoringFindingDomainEntity } from './monitoring/monitoring-finding-domain.entity';
import { MonitoringFindingEntity } from './monitoring/monitoring-finding.entity';
import { MonitoredEndpointEntity } from './monitoring/monitored-endpoint.entity';
import { MonitoredNameEntity } from './monitoring/monitored-name.entity';
import { MonitoringAccountEntity } from './monitoring/monitoring-account.entity';
import { MonitoringSettingsEntity } from './monitoring/monitoring-settings.entity';
import { ExpirationNoticeEntity } from './notices/expiration-notice.entity';
import { OrderV3Entity } from './orders-v3/order-v3.entity';
import { OutboxEntity } from './outbox/outbox.entity';
import { PlanEntity } from './plans/plan.entity';
import { TermsEntity } from './plans/terms.entity';
import { AccountBalanceEntity } from './purchases/account-balance.entity';
import { ChargeEntity } from './purchases/charge.entity';
import { InvoiceEntity } from './purchases/invoice.entity';
import { LedgerEntryEntity } from './purchases/ledger-entry.entity';
import { CertObjectV2Entity } from './certs-v2/cert-object-v2.entity';
import { ProductEntity } from './products/product.entity';
import { SearchPlanEntity } from './search-plans/search-plan.entity';
import { SearchSubscriptionEntity } from './search-plans/search-subscription.entity';
import { HttpChallengeEntity } from './web-rules/http-challenge.entity';
import { WebRuleEntity } from './web-rules/web-rule.entity';
import { WebhookAttemptEntity } from './webhooks/webhook-attempt.entity';
import { WebhookDeliveryEntity } from './webhooks/webhook-delivery.entity';
import { WebhookEndpointEntity } from './webhooks/webhook-endpoint.entity';

/** Every table of the `core` database. */
export const coreEntities = [
  DeploymentEntity,
  AccountEntity,
  AccountUserEntity,
  ApiKeyEntity,
  ClusterEntity,
  ProductEntity,
  BlockedKeyEntity,
  PlanEntity,
  TermsEntity,
  IssuanceEntity,
  CertificateChainEntity,
  CertificateEntity,
  DelegationEntity,
  OrderV3Entity,
  OutboxEntity,
  IdempotencyRecordEntity,
  CaIssuerEntity,
  CaKeyEntity,
  CaSigningEntity,
  WebhookEndpointEntity,
  WebhookDeliveryEntity,
  WebhookAttemptEntity,
  MailEntity,
  ExpirationNoticeEntity,
  EmailApprovalEntity,
  EmailApprovalTokenEntity,
  WebRuleEntity,
  HttpChallengeEntity,
  DnsIntegrationEntity,
  DnsIntegrationZoneEntity,
  ApprovalRecordEntity,
  ApprovalRecordUseEntity,
  CertificateAuthorityEntity,
  CaAccountEntity,
  AcmeOrderEntity,
  RenewalInfoEntity,
  RevocationAttemptEntity,
  CaLimitBucketEntity,
  ChallengeRecordEntity,
  ChallengeFileEntity,
  AccountBalanceEntity,
  ChargeEntity,
  LedgerEntryEntity,
  InvoiceEntity,
  CertObjectV2Entity,
  ApiCredentialEntity,
  SearchPlanEntity,
  SearchSubscriptionEntity,
  LogSubmissionEntity,
  MonitoredDomainEntity,
  KnownKeyEntity,
  KnownCertEntity,
  MonitoringSettingsEntity,
  MonitoringChangeEntity,
  MonitoringTaskEntity,
  StrayCertificateEntity,
  EndpointReportEntity,
  EndpointHoldEntity,
  MonitoringFollowerEntity,
  MonitoringCheckpointEntity,
  MonitoringUnreadableCursorEntity,
  MonitoringBackfillEntity,
  MonitoringFindingEntity,
  MonitoringFindingDomainEntity,
  MonitoredEndpointEntity,
  MonitoredNameEntity,
  MonitoringAccountEntity,
  ClusterEnrolmentEntity,
  AgentEntity,
  ClusterReleaseEntity,
  KeyRequestEntity,
  ManagedKeyEntity,
  SealedKeyEntity,
  InstallationEntity,
  RolloutEntity,
];
