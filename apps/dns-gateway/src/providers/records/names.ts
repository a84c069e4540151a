import { domainToASCII } from 'node:url';
import type { Zone } from '@certwright/gateway-contract';

/**
 * A name in the contract's form: lower case, no trailing dot. Decodes the escapes of `*` and `_` that some APIs use.
 */
export const normalName = (name: string): string =>
  name
    .toLowerCase()
    .replace(/\.$/, '')
    .replace(/\\052/g, '*')
    .replace(/\\137/g, '_')
    .replace(/\\([*_])/g, '$1');

export const absolute = (name: string): string => `${normalName(name)}.`;

/** The part before the zone; the apex is `@`. The name must be in the zone. */
export function relativeName(fqdn: string, zone: Pick<Zone, 'name'>): string {
  if (fqdn === zone.name) return '@';
  if (!fqdn.endsWith(`.${zone.name}`)) throw new RangeError(`${fqdn} does not lie in ${zone.name}`);
  return fqdn.slice(0, -zone.name.length - 1);
}

/** The absolute name of a name relative to the zone; `@` and the empty name are the apex. */
export function fqdnOf(relative: string, zone: Pick<Zone, 'name'>): string {
  const name = normalName(relative);
  return name === '@' || name === '' ? zone.name : `${name}.${zone.name}`;
}

/** Maps a list of zones: the provider's ids, names in normal form, including U-labels (RFC 5890). */
export const zoneOf = (id: string, name: string): Zone => ({ id, name: normalName(aLabels(name)) });

const aLabels = (name: string): string => (/^[\x21-\x7e]*$/.test(name) ? name : domainToASCII(name) || name);
