import { lookup } from 'node:dns/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { AddressGuard, type ResolverAddress } from '@certwright/outbound';
import { Module } from '@nestjs/common';
import { GatewayConfig } from '../config';
import { operatorOf } from '../operator-settings';
import { ProviderPorts } from './dns-provider';
import { customerCall } from './http/customer-call';
import { platformCall } from './http/platform-call';
import { Providers, providers } from './registry';

async function portsOf(config: GatewayConfig): Promise<ProviderPorts> {
  const guard = new AddressGuard({
    allowedNetworks: config.ALLOWED_NETWORKS,
    resolvers: await Promise.all(config.DNS_RESOLVERS.map(addressOf)),
  });
  return {
    callApi: platformCall(),
    callCustomer: customerCall(guard),
    guard,
    now: () => new Date(),
    rest: async (ms, signal) => {
      await delay(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
    },
  };
}

/** A resolver given by name (a service of the cluster) is looked up once, by the system resolver. */
async function addressOf({ host, port }: ResolverAddress): Promise<ResolverAddress> {
  const { address } = await lookup(host);
  return { host: address, port };
}

@Module({
  providers: [
    {
      provide: Providers,
      inject: [GatewayConfig],
      useFactory: (config: GatewayConfig) => providers(operatorOf(config)),
    },
    { provide: ProviderPorts, inject: [GatewayConfig], useFactory: portsOf },
  ],
  exports: [Providers, ProviderPorts],
})
export class ProvidersModule {}
