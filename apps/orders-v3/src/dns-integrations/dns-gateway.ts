import { Problem } from '@certwright/errors';
import { type Gateway, GatewayClient } from '@certwright/gateway-client';
import { followGateway, gatewayConnection, InProgress, type RunningProcess } from '@certwright/service';
import type { OrdersConfig } from '../config';

/**
 * Requests of one account that wait for its providers at the same time, in this process. Providers may take half a minute,
 * and all accounts share 32 connections to the gateway.
 */
export const maxRequestsOfAccount = 8;

/** Seconds before another request; most providers respond sooner. */
const busyRetryAfterS = 5;

/** The DNS gateway, if the operator has set one up: without it no integrations are possible; all else works. */
export class DnsGateway {
  readonly #atProviders = new InProgress(maxRequestsOfAccount);

  constructor(readonly client: Gateway | null) {}

  /**
   * Runs a request that waits for a provider of the account.
   *
   * @throws Problem `rate_limited` when too many do already
   */
  async atProvider<T>(accountId: string, work: () => Promise<T>): Promise<T> {
    const end = this.#atProviders.begin(accountId);
    if (end === null) throw tooManyAtProviders();
    try {
      return await work();
    } finally {
      end();
    }
  }
}

function tooManyAtProviders(): Problem {
  const message = `${maxRequestsOfAccount} requests of this account wait for its DNS providers; send the next one when one of them has ended.`;
  return new Problem('rate_limited', message, { retryAfterS: busyRetryAfterS });
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
