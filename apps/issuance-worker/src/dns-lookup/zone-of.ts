import type { LookUp, LookUpOptions } from '@certwright/dns-lookup';
import { targetsOf } from './standing-delegation';

/**
 * The zone that contains a name: the nearest name at or above it with NS records of its own (RFC 1034, section 4.2).
 *
 * @param name in normal form
 * @returns null when unknown: no response, or none up to the top level
 */
export async function zoneOf(lookUp: LookUp, name: string, options?: LookUpOptions): Promise<string | null> {
  for (let at = name; at.includes('.'); at = at.slice(at.indexOf('.') + 1)) {
    const result = await lookUp(at, 'NS', options);
    if (result.kind === 'failure') return null;
    if (targetsOf('NS', at, result).length > 0) return at;
  }
  return null;
}
