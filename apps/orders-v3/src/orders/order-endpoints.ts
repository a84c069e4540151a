import {
  endpointJson,
  type FirstEndpoints,
  type MonitoredEndpointSchema,
} from '@certwright/monitored-endpoints';
import type { StoredOrder } from './order';

/** Max characters of the JSON of all endpoints in a response, without those of its first order. */
const maxCharacters = 4_194_304;

/** Null: they do not fit into the response. */
export type OrderEndpoints = readonly MonitoredEndpointSchema[] | null;

interface WrittenEndpoint {
  readonly json: MonitoredEndpointSchema;
  readonly characters: number;
}

/**
 * The endpoints of exactly the names of each order.
 *
 * @param read those of the names of all orders
 * @returns plan id → endpoints, in the order of its names
 */
export function endpointsOfOrders(
  orders: readonly Pick<StoredOrder, 'planId' | 'dnsNames'>[],
  { endpoints, hasMore }: FirstEndpoints,
): ReadonlyMap<string, OrderEndpoints> {
  const rows = new Map(endpoints.map((row) => [row.dns_name, row]));
  const written = new Map<string, WrittenEndpoint>();
  const write = (name: string): readonly WrittenEndpoint[] => {
    const row = rows.get(name);
    if (row === undefined) return [];
    const before = written.get(name);
    if (before !== undefined) return [before];
    const json = endpointJson(row);
    const endpoint = { json, characters: JSON.stringify(json).length };
    written.set(name, endpoint);
    return [endpoint];
  };
  const lastRead = hasMore ? (endpoints.at(-1)?.dns_name ?? '') : null;
  let left = maxCharacters;
  return new Map(
    orders.map(({ planId, dnsNames }, at) => {
      if (left < 0 || dnsNames.some((name) => lastRead !== null && name > lastRead)) return [planId, null];
      const ofOrder = dnsNames.flatMap(write);
      if (at > 0) for (const { characters } of ofOrder) left -= characters;
      return [planId, left < 0 ? null : ofOrder.map(({ json }) => json)];
    }),
  );
}
