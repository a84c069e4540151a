import { GatewayClient } from '@certwright/gateway-client';
import { gatewayConnection, RunningProcess } from '@certwright/service';
import { Module } from '@nestjs/common';
import { Config } from '../config';

/**
 * @returns null when no gateway is configured
 * @throws SettingsError when the configuration is incomplete
 */
export function gatewayOf(
  config: Pick<Config, 'GATEWAY_URL' | 'GATEWAY_CA' | 'GATEWAY_CERTIFICATE' | 'GATEWAY_KEY'>,
): GatewayClient | null {
  const connection = gatewayConnection(config);
  return connection === null ? null : new GatewayClient(connection);
}

/** `GatewayClient`, or null. */
@Module({
  providers: [
    {
      provide: GatewayClient,
      inject: [Config, RunningProcess],
      useFactory: (config: Config, { opened }: RunningProcess) => {
        const gateway = gatewayOf(config);
        opened('gateway', async () => await gateway?.close());
        return gateway;
      },
    },
  ],
  exports: [GatewayClient],
})
export class GatewayModule {}
