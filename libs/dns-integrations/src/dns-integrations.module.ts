import { Module } from '@nestjs/common';
import { DnsIntegrations } from './dns-integrations';
import { LeasedIntegrations } from './leased-integrations';

const providers = [DnsIntegrations, LeasedIntegrations];

/** Integrations with DNS providers, and the leases under which the gateway is called for them. */
@Module({ providers, exports: providers })
export class DnsIntegrationsModule {}
