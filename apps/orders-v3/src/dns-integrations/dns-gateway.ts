import { type Gateway, GatewayClient } from '@certwright/gateway-client';
import { gatewayConnection } from '@certwright/service';
import type { OrdersConfig } from '../config';

/** The DNS gateway, if the operator has set one up: without it no integrations are possible; all else works. */
export class DnsGateway {
  constructor(readonly client: Gateway | null) {}
}

/** @throws SettingsError when it is set up by half */
export function gatewayClient(config: OrdersConfig): GatewayClient | null {
  const connection = gatewayConnection(config);
  return connection === null ? null : new GatewayClient(connection);
}
