import { Core1795132800000 } from './1795132800000-core';
import { OrderLife1795219200000 } from './1795219200000-order-life';
import { DnsIntegrations1795305600000 } from './1795305600000-dns-integrations';
import { Acme1795392000000 } from './1795392000000-acme';
import { Purchases1795478400000 } from './1795478400000-purchases';
import { SearchPlans1795651200000 } from './1795651200000-search-plans';
import { LogSubmissions1795651300000 } from './1795651300000-log-submissions';
import { CaHealth1795737600000 } from './1795737600000-ca-health';
import { CertificateMails1796169600000 } from './1796169600000-certificate-mails';
import { IssuanceOutcome1796400000000 } from './1796400000000-issuance-outcome';
import { Outcomes1796500000000 } from './1796500000000-outcomes';
import { MonitoredDomains1796600000000 } from './1796600000000-monitored-domains';
import { CertificateFindings1796700000000 } from './1796700000000-certificate-findings';
import { CertificateAlerts1796710000000 } from './1796710000000-certificate-alerts';
import { FindingLists1796720000000 } from './1796720000000-finding-lists';
import { BackfillMails1796730000000 } from './1796730000000-backfill-mails';
import { OwnIssuance1796800000000 } from './1796800000000-own-issuance';
import { EndpointChecks1796900000000 } from './1796900000000-endpoint-checks';
import { FindingTurns1796910000000 } from './1796910000000-finding-turns';
import { DeploymentId1797000000000 } from './1797000000000-deployment-id';
import { Traceparents1797010000000 } from './1797010000000-traceparents';
import { CaKeys1797020000000 } from './1797020000000-ca-keys';
import { IssuanceHold1797030000000 } from './1797030000000-issuance-hold';
import { ManagedOrders1797100000000 } from './1797100000000-managed-orders';
import { BookingReferences1797200000000 } from './1797200000000-booking-references';
import { OlderWebhookSecrets1797210000000 } from './1797210000000-older-webhook-secrets';
import { CaRefusals1797220000000 } from './1797220000000-ca-refusals';
import { RevocationMails1797230000000 } from './1797230000000-revocation-mails';

/** Every migration of the `core` database, oldest first. Any commit runs with or without the newest one. */
export const coreMigrations = [
  Core1795132800000,
  OrderLife1795219200000,
  DnsIntegrations1795305600000,
  Acme1795392000000,
  Purchases1795478400000,
  SearchPlans1795651200000,
  LogSubmissions1795651300000,
  CaHealth1795737600000,
  CertificateMails1796169600000,
  IssuanceOutcome1796400000000,
  Outcomes1796500000000,
  MonitoredDomains1796600000000,
  CertificateFindings1796700000000,
  CertificateAlerts1796710000000,
  FindingLists1796720000000,
  BackfillMails1796730000000,
  OwnIssuance1796800000000,
  EndpointChecks1796900000000,
  FindingTurns1796910000000,
  DeploymentId1797000000000,
  Traceparents1797010000000,
  CaKeys1797020000000,
  IssuanceHold1797030000000,
  ManagedOrders1797100000000,
  BookingReferences1797200000000,
  OlderWebhookSecrets1797210000000,
  CaRefusals1797220000000,
  RevocationMails1797230000000,
];
