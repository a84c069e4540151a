import { type Gateway, GatewayClient } from '@certwright/gateway-client';
import { followGateway, gatewayConnection, type RunningProcess } from '@certwright/service';
import type { OrdersConfig } from '../config';

/** The DNS gateway, if the operator has set one up: without it no integrations are possible; all else works. */
export class DnsGateway {
  constructor(readonly client: Gateway | null) {}
}

/** @throws SettingsError when it is set up by half, or its certificate cannot be used */
export function openGateway(config: OrdersConfig, running: RunningProcess): DnsGateway {
  const connection = gatewayConnection(config);
  if (connection === null) return new DnsGateway(null);
  const client = new GatewayClient(connection);
  running.opened('dns gateway', () => client.close());
  followGateway(config, connection, running, {
    use: (renewed) => client.renew(renewed),
    // All copies have the same certificate, and most requests do not need the gateway.
    isRequired: false,
  });
  return new DnsGateway(client);
}
