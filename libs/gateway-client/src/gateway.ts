import type { GatewayDescription, GatewayEndpoint, GatewayMessages } from '@certwright/gateway-contract';

export type Asked<E extends GatewayEndpoint> = GatewayMessages[E]['request'];
export type Answered<E extends GatewayEndpoint> = GatewayMessages[E]['answer'];

/**
 * Client interface of the DNS gateway. The caller holds the lease of a stored integration, and stores the new handle
 * that an answer, or a GatewayFault, may bring.
 *
 * Every method is bounded in time and throws GatewayFault and nothing else. Every message may be repeated, apart from
 * `makeIntegration` with an OAuth code, which the first one uses up.
 */
export interface Gateway {
  /** What an account needs for an integration, as the gateway is set up now. */
  describe(account: string): Promise<GatewayDescription>;
  makeIntegration(request: Asked<'make_integration'>): Promise<Answered<'make_integration'>>;
  getZones(request: Asked<'get_zones'>): Promise<Answered<'get_zones'>>;
  addRecord(request: Asked<'add_record'>): Promise<Answered<'add_record'>>;
  removeRecord(request: Asked<'remove_record'>): Promise<Answered<'remove_record'>>;
}
