import { randomInt } from 'node:crypto';
import { type Gateway, GatewayFault, sealCredentials } from '@certwright/gateway-client';
import type { Credentials, IntegrationOwner, ProviderName, Zone } from '@certwright/gateway-contract';
import {
  DnsIntegrations,
  LeasedIntegrations,
  maxDnsIntegrations,
  nextZonesAt,
} from '@certwright/dns-integrations';
import { Transactions } from '@certwright/core-schema';
import type { DataSource } from 'typeorm';

/** Longer than one message to the gateway. */
const leaseMs = 45_000;

export interface WantedIntegration {
  readonly accountId: string;
  readonly provider: ProviderName;
  readonly description: string;
  readonly credentials: Credentials;
}

export interface CreatedIntegration {
  readonly id: string;
  /** Null when they could not be listed. */
  readonly zones: readonly Zone[] | null;
}

/**
 * Has the gateway create an integration from credentials that are encrypted for it, and stores it.
 *
 * @param encryptionKey of the gateway's description
 * @throws GatewayFault, also when the provider refuses the credentials
 */
export async function createIntegration(
  database: DataSource,
  gateway: Gateway,
  encryptionKey: Readonly<Record<string, string>>,
  { accountId: account, provider, description, credentials }: WantedIntegration,
): Promise<CreatedIntegration> {
  const transactions = new Transactions(database);
  const integrations = new DnsIntegrations(database, transactions);
  if (!(await integrations.hasRoom(account))) throw full(account);
  // Positive, random, and exact as a JSON number.
  const id = String(randomInt(1, 2 ** 48 - 1));
  const owner = { account, provider, integration_id: id };
  const content = { account, provider, credentials, issued_at: Math.floor(Date.now() / 1_000) };
  const sealed = await sealCredentials(encryptionKey, content);
  const { integration } = await gateway.makeIntegration({ ...owner, credentials: sealed });
  const { handle, zones } = await zonesOf(gateway, owner, integration);
  const zonesDueAt = nextZonesAt(new Date(), 0);
  const created = await transactions.run(
    async (tx) =>
      await integrations.create(tx, {
        id,
        accountId: account,
        provider,
        description,
        handle,
        zones,
        zonesDueAt,
      }),
  );
  if (created === null) throw full(account);
  return { id, zones };
}

/** The integration is stored even if its zones cannot be listed now. */
async function zonesOf(
  gateway: Gateway,
  owner: IntegrationOwner,
  integration: string,
): Promise<{ readonly handle: string; readonly zones: readonly Zone[] | null }> {
  try {
    const listed = await gateway.getZones({ ...owner, integration });
    return { handle: listed.integration ?? integration, zones: listed.zones };
  } catch (error) {
    if (!(error instanceof GatewayFault)) throw error;
    return { handle: error.integration ?? integration, zones: null };
  }
}

/** As the provider returns them now. @throws Error while the worker uses the integration; GatewayFault */
export async function freshZones(
  database: DataSource,
  gateway: Gateway,
  accountId: string,
  id: string,
): Promise<readonly Zone[]> {
  const leases = new LeasedIntegrations(database, new Transactions(database));
  const leased = await leases.lease(id, leaseMs);
  if (leased === null) throw new Error('The worker is using this integration at the moment: try again.');
  const { lease, integration, now } = leased;
  const owner = { account: accountId, provider: integration.provider, integration_id: id };
  try {
    const { zones, integration: resealed } = await gateway.getZones({
      ...owner,
      integration: integration.handle,
    });
    const working = { state: 'ok', problem: null, failures: 0, checkedAt: now } as const;
    const handle = resealed === undefined ? {} : { handle: resealed };
    await leases.save(lease, { ...working, ...handle, zones, zonesDueAt: nextZonesAt(now, 0) }, 'release');
    return zones;
  } catch (error) {
    // The worker lists the zones next, at once, and stores what the failure means for the integration.
    if (error instanceof GatewayFault) {
      const handle = error.integration === undefined ? {} : { handle: error.integration };
      await leases.save(lease, { ...handle, zonesDueAt: now }, 'release');
    }
    throw error;
  }
}

function full(account: string): Error {
  return new Error(`Account ${account} has ${maxDnsIntegrations} DNS integrations, the maximum.`);
}
