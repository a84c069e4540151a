import { registeredDomain } from '@certwright/dns-names';
import type { Zone } from '@certwright/gateway-contract';
import { isBelow, readRecordName } from './record-name';

export type ZoneChoice = { readonly kind: 'below' | 'apex'; readonly zone: Zone } | { readonly kind: 'none' };

/**
 * The zone that a record belongs into: the longest of those that the name is in, as the shorter ones have delegated it
 * away. A name that is a zone's own is its apex, whichever other zones are there.
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
 * customers run themselves: what is no name of a host (`0/25.2.0.192.in-addr.arpa`, RFC 2317), a single label or a public
 * suffix is passed over.
 */
export function usableZones(zones: readonly Zone[]): readonly Zone[] {
  return zones.flatMap(({ id, name }) => {
    const read = readRecordName(name);
    return read.ok && mayBeOneCustomers(read.name) ? [{ id, name: read.name }] : [];
  });
}

/**
 * Not where many parties register names. A suffix is told by what is right below it: that is a registered domain. The
 * second look finds the parents of suffixes (`*.kobe.jp`). Names beneath no listed suffix are of a private network.
 *
 * @param name in normal form
 */
export function mayBeOneCustomers(name: string): boolean {
  if (!name.includes('.')) return false;
  return [`a-name.${name}`, `a-name.of.${name}`].every((below) => registeredDomain(below) !== below);
}
