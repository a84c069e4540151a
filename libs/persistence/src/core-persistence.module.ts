import { type DynamicModule, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ApiKeys } from './accounts/api-keys';
import { Clusters } from './accounts/clusters';
import { ApprovalRecords } from './approval-records/approval-records';
import { LeasedRecords } from './approval-records/leased-records';
import { AcmeOrders } from './acme/acme-orders';
import { CaAccounts } from './acme/ca-accounts';
import { CertificateAuthorities } from './acme/certificate-authorities';
import { RenewalInfos } from './acme/renewal-infos';
import { BlockedKeys } from './blocked-keys/blocked-keys';
import { CaIssuers } from './built-in-ca/ca-issuers';
import { CaSignings } from './built-in-ca/ca-signings';
import { RevocationLists } from './built-in-ca/revocation-lists';
import { CaLimitBuckets } from './ca-limits/ca-limit-buckets';
import { Attachments } from './certificates/attachments';
import { Certificates } from './certificates/certificates';
import { Challenges } from './challenges/challenges';
import { HostedChallengeRecords } from './challenges/hosted-challenge-records';
import { type CoreDatabase, coreDataSourceOptions } from './core-data-source';
import { Delegations } from './delegations/delegations';
import { DnsIntegrations } from './dns-integrations/dns-integrations';
import { LeasedIntegrations } from './dns-integrations/leased-integrations';
import { EmailApprovals } from './email-approvals/email-approvals';
import { IdempotencyRecords } from './idempotency/idempotency-records';
import { ReservedRequests } from './idempotency/reserved-requests';
import { IssuanceStatisticsReader } from './issuances/issuance-statistics';
import { Issuances } from './issuances/issuances';
import { LeasedIssuances } from './issuances/leased-issuances';
import { LeasedMails } from './mail/leased-mails';
import { MailSubjects } from './mail/mail-subjects';
import { Mails } from './mail/mails';
import { ExpirationNotices } from './notices/expiration-notices';
import { Outbox } from './outbox/outbox';
import { Plans } from './plans/plans';
import { Products } from './products/products';
import { Renewals } from './renewals/renewals';
import { PendingRevocations } from './revocations/pending-revocations';
import { Revocations } from './revocations/revocations';
import { Transactions } from './transactions/transactions';
import { HttpChallenges } from './web-rules/http-challenges';
import { WebRules } from './web-rules/web-rules';
import { LeasedDeliveries } from './webhooks/leased-deliveries';
import { WebhookDeliveries } from './webhooks/webhook-deliveries';
import { WebhookEndpoints } from './webhooks/webhook-endpoints';
import { WebhookLog } from './webhooks/webhook-log';

const repositories = [
  AcmeOrders,
  ApiKeys,
  ApprovalRecords,
  Attachments,
  BlockedKeys,
  CaAccounts,
  CaIssuers,
  CaLimitBuckets,
  CaSignings,
  CertificateAuthorities,
  Certificates,
  Challenges,
  Clusters,
  Delegations,
  DnsIntegrations,
  EmailApprovals,
  HostedChallengeRecords,
  HttpChallenges,
  IdempotencyRecords,
  IssuanceStatisticsReader,
  Issuances,
  LeasedDeliveries,
  LeasedIntegrations,
  LeasedIssuances,
  LeasedMails,
  LeasedRecords,
  MailSubjects,
  Mails,
  Outbox,
  Plans,
  ExpirationNotices,
  PendingRevocations,
  Products,
  RenewalInfos,
  Renewals,
  ReservedRequests,
  Revocations,
  RevocationLists,
  Transactions,
  WebRules,
  WebhookDeliveries,
  WebhookEndpoints,
  WebhookLog,
];

/** While the database is away at start, a process tries again for half a minute before it gives up. */
const connecting = { retryAttempts: 15, retryDelay: 2_000 };

/** Everything that keeps rows of the `core` database. */
@Module({})
export class CorePersistenceModule {
  static forRoot(database: CoreDatabase): DynamicModule {
    return {
      module: CorePersistenceModule,
      global: true,
      imports: [TypeOrmModule.forRoot({ ...coreDataSourceOptions(database), ...connecting })],
      providers: repositories,
      exports: repositories,
    };
  }
}
