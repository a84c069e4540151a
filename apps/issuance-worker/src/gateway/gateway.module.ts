import { GatewayClient } from '@certwright/gateway-client';
import { followGateway, gatewayConnection, RunningProcess } from '@certwright/service';
import { Module } from '@nestjs/common';
import { Config } from '../config';

/**
 * @returns null when no gateway is configured
 * @throws SettingsError when the configuration is incomplete or its certificate cannot be used
 */
function openGateway(
  config: Pick<Config, 'GATEWAY_URL' | 'GATEWAY_CA' | 'GATEWAY_CERTIFICATE' | 'GATEWAY_KEY'>,
  running: RunningProcess,
): GatewayClient | null {
  const connection = gatewayConnection(config);
  if (connection === null) return null;
  const client = new GatewayClient(connection);
  running.opened('gateway', () => client.close());
  followGateway(config, connection, running, {
    use: (renewed) => client.renew(renewed),
    isRequired: true,
  });
  return client;
}

/** `GatewayClient`, or null. */
@Module({
  providers: [{ provide: GatewayClient, inject: [Config, RunningProcess], useFactory: openGateway }],
  exports: [GatewayClient],
})
export class GatewayModule {}
