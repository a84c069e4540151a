import { domainToASCII } from 'node:url';
import type { Zone } from '@certwright/gateway-contract';

/** A name as the contract has it: lower case, without the dot at the end. Escapes for `*` and `_`, as some APIs give them, are undone. */
export const normalName = (name: string): string =>
  name
    .toLowerCase()
    .replace(/\.$/, '')
    .replace(/\\052/g, '*')
    .replace(/\\137/g, '_')
    .replace(/\\([*_])/g, '$1');

export const absolute = (name: string): string => `${normalName(name)}.`;

/** The part before the zone; the apex is `@`. The name must lie in the zone. */
export function relativeName(fqdn: string, zone: Pick<Zone, 'name'>): string {
  if (fqdn === zone.name) return '@';
  if (!fqdn.endsWith(`.${zone.name}`)) throw new RangeError(`${fqdn} does not lie in ${zone.name}`);
  return fqdn.slice(0, -zone.name.length - 1);
}

/** The way back from a name relative to the zone; `@` and the empty one are the apex. */
export function fqdnOf(relative: string, zone: Pick<Zone, 'name'>): string {
  const name = normalName(relative);
  return name === '@' || name === '' ? zone.name : `${name}.${zone.name}`;
}

/** For a list of zones: ids as the provider has them, names in normal form, also where it shows U-labels (RFC 5890). */
export const zoneOf = (id: string, name: string): Zone => ({ id, name: normalName(aLabels(name)) });

const aLabels = (name: string): string => (/^[\x21-\x7e]*$/.test(name) ? name : domainToASCII(name) || name);
