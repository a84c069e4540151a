import type { GatewayDescription, Zone } from '@certwright/gateway-contract';
import type { DnsIntegration } from '@certwright/dns-integrations';
import { messageOfOutcome } from './outcome-messages';
import { timestamp } from './timestamp';

/** A DNS integration in the words of the API. @param zones null: they were not asked for */
export function integrationJson(integration: DnsIntegration, zones: readonly Zone[] | null): object {
  const { checkedAt } = integration;
  return {
    // Ids fit the integers of JSON's numbers: a constraint of the table.
    id: Number(integration.id),
    provider: integration.provider,
    description: integration.description,
    state: integration.state,
    problem: messageOfOutcome(integration.problem),
    checked_at: checkedAt === null ? null : timestamp(checkedAt),
    created_at: timestamp(integration.createdAt),
    ...(zones === null ? {} : { zones: zones.map(zoneJson) }),
  };
}

export function zoneJson({ id, name }: Zone): object {
  return { id, name };
}

/** As the gateway says it, whose words are those of this API; `encryption_key` is a JSON Web Key. */
export function providersJson({ encryption_key, providers }: GatewayDescription): object {
  return { encryption_key, providers };
}

export const noProvidersJson = { encryption_key: null, providers: [] };

/** @param expand the values of the `expand` parameter; names that mean nothing are ignored */
export function asksForZones(expand: unknown): boolean {
  return [expand].flat().includes('zones');
}
