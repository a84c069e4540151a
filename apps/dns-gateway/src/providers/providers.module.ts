import { setTimeout as delay } from 'node:timers/promises';
import { AddressGuard } from '@certwright/outbound';
import { Module } from '@nestjs/common';
import { GatewayConfig } from '../config';
import { operatorOf } from '../operator-settings';
import { ProviderPorts } from './dns-provider';
import { customerCall } from './http/customer-call';
import { platformCall } from './http/platform-call';
import { Providers, providers } from './registry';

function portsOf(config: GatewayConfig): ProviderPorts {
  const guard = new AddressGuard({
    allowedNetworks: config.ALLOWED_NETWORKS,
    resolvers: config.DNS_RESOLVERS,
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
