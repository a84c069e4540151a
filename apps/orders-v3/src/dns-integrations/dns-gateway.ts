import { type Gateway, GatewayClient } from '@certwright/gateway-client';
import { gatewayConnection } from '@certwright/service';
import type { OrdersConfig } from '../config';

/** The DNS gateway, where the operator has set one up: without it nothing can be integrated, and nothing else changes. */
export class DnsGateway {
  constructor(readonly client: Gateway | null) {}
}

/** @throws SettingsError when it is set up by half */
export function gatewayClient(config: OrdersConfig): GatewayClient | null {
  const connection = gatewayConnection(config);
  return connection === null ? null : new GatewayClient(connection);
}
