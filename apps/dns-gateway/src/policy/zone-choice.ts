import { registeredDomain } from '@certwright/dns-names';
import type { Zone } from '@certwright/gateway-contract';
import { isBelow, readRecordName } from './record-name';

export type ZoneChoice = { readonly kind: 'below' | 'apex'; readonly zone: Zone } | { readonly kind: 'none' };

/**
 * The zone of a record: the longest zone that contains the name, as the shorter ones have delegated it. A name that
 * equals any zone's name is that zone's apex.
 *
 * @param name in normal form
 */
export function chooseZone(name: string, zones: readonly Zone[]): ZoneChoice {
  let longest: Zone | null = null;
  for (const zone of usableZones(zones)) {
    if (zone.name === name) return { kind: 'apex', zone };
    if (isBelow(name, zone.name) && zone.name.length > (longest?.name.length ?? 0)) longest = zone;
  }
  return longest === null ? { kind: 'none' } : { kind: 'below', zone: longest };
}

/**
 * The zones that records may be written into, their names in normal form. Zones come from providers, some of which
 * customers operate themselves. Skips names that are not host names (`0/25.2.0.192.in-addr.arpa`, RFC 2317), single
 * labels and public suffixes.
 */
export function usableZones(zones: readonly Zone[]): readonly Zone[] {
  return zones.flatMap(({ id, name }) => {
    const read = readRecordName(name);
    return read.ok && mayBeOneCustomers(read.name) ? [{ id, name: read.name }] : [];
  });
}

/**
 * False for a public suffix, below which many parties register names. A name is a suffix when a name directly below
 * it is a registered domain. The second check finds parents of suffixes (`*.kobe.jp`). Names below no listed suffix
 * belong to a private network.
 *
 * @param name in normal form
 */
export function mayBeOneCustomers(name: string): boolean {
  if (!name.includes('.')) return false;
  return [`a-name.${name}`, `a-name.of.${name}`].every((below) => registeredDomain(below) !== below);
}
