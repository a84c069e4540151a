import { GatewayClient } from '@certwright/gateway-client';
import { gatewayConnection } from '@certwright/service';
import type { Config } from '../config';

/**
 * @returns null when no gateway is set up
 * @throws SettingsError when it is set up by half
 */
export function gatewayOf(
  config: Pick<Config, 'GATEWAY_URL' | 'GATEWAY_CA' | 'GATEWAY_CERTIFICATE' | 'GATEWAY_KEY'>,
): GatewayClient | null {
  const connection = gatewayConnection(config);
  return connection === null ? null : new GatewayClient(connection);
}
