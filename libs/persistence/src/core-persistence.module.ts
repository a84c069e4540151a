import { type DynamicModule, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccountUsers } from './accounts/account-users';
import { Accounts } from './accounts/accounts';
import { ApiCredentials } from './accounts/api-credentials';
import { ApiKeys } from './accounts/api-keys';
import { Clusters } from './accounts/clusters';
import { Announcements } from './announcements/announcements';
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
import { RepeatableRequests } from './idempotency/repeatable-requests';
import { ReservedRequests } from './idempotency/reserved-requests';
import { IssuanceWakeUps } from './issuance-wake-ups/issuance-wake-ups';
import { IssuanceStatisticsReader } from './issuances/issuance-statistics';
import { Issuances } from './issuances/issuances';
import { LeasedIssuances } from './issuances/leased-issuances';
import { WaitingIssuances } from './issuances/waiting-issuances';
import { LogSubmissions } from './log-submissions/log-submissions';
import { LeasedMails } from './mail/leased-mails';
import { MailSubjects } from './mail/mail-subjects';
import { Mails } from './mail/mails';
import { ExpirationNotices } from './notices/expiration-notices';
import { Outbox } from './outbox/outbox';
import { Plans } from './plans/plans';
import { Products } from './products/products';
import { Balances } from './purchases/balances';
import { Invoices } from './purchases/invoices';
import { Ledger } from './purchases/ledger';
import { Purchases } from './purchases/purchases';
import { UnusedCharges } from './purchases/unused-charges';
import { Renewals } from './renewals/renewals';
import { UnpaidRenewals } from './renewals/unpaid-renewals';
import { PendingRevocations } from './revocations/pending-revocations';
import { Revocations } from './revocations/revocations';
import { Transactions } from './transactions/transactions';
import { HttpChallenges } from './web-rules/http-challenges';
import { WebRules } from './web-rules/web-rules';
import { LeasedDeliveries } from './webhooks/leased-deliveries';
import { WebhookDeliveries } from './webhooks/webhook-deliveries';
import { WebhookEndpoints } from './webhooks/webhook-endpoints';
import { WebhookFanOut } from './webhooks/webhook-fan-out';
import { WebhookLog } from './webhooks/webhook-log';

const repositories = [
  AcmeOrders,
  Announcements,
  Balances,
  Invoices,
  Ledger,
  Purchases,
  UnpaidRenewals,
  UnusedCharges,
  AccountUsers,
  Accounts,
  ApiCredentials,
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
  IssuanceWakeUps,
  LeasedDeliveries,
  LeasedIntegrations,
  LeasedIssuances,
  LeasedMails,
  LeasedRecords,
  LogSubmissions,
  MailSubjects,
  Mails,
  Outbox,
  Plans,
  ExpirationNotices,
  PendingRevocations,
  Products,
  RenewalInfos,
  Renewals,
  RepeatableRequests,
  ReservedRequests,
  Revocations,
  RevocationLists,
  Transactions,
  WebRules,
  WaitingIssuances,
  WebhookDeliveries,
  WebhookEndpoints,
  WebhookFanOut,
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
