export { DnsIntegrationsModule } from './dns-integrations.module';
export { type DnsIntegration, DnsIntegrations, maxDnsIntegrations } from './dns-integrations';
export {
  type IntegrationLease,
  type IntegrationProgress,
  type LeasedIntegration,
  underIntegrationLease,
} from './integration-lease';
export { LeasedIntegrations } from './leased-integrations';
export { nextZonesAt } from './zone-refresh';
