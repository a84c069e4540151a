import { baseName } from '@certwright/dns-names';
import type { NameServers } from '../name-servers/name-servers';
import type { LookUp } from '../dns-lookup/answer';
import type { WantedDelegation } from '../dns-lookup/standing-delegation';
import { zoneOf } from '../dns-lookup/zone-of';

/** Null: it stands; else a sentence for the caller. */
export type ParentSays = (
  dnsName: string,
  wanted: WantedDelegation,
  signal: AbortSignal,
) => Promise<string | null>;

/**
 * Whether every authoritative server of the zone above refers to the target. The child's own answer must not count: it
 * names the platform's servers, whoever's delegation led there, and would approve one tenant by the record of another.
 */
export function parentDelegation(lookUp: LookUp, nameServers: Pick<NameServers, 'find'>): ParentSays {
  return async (dnsName, wanted, signal) => {
    const zoneName = await zoneOf(lookUp, baseName(dnsName), { signal });
    if (zoneName === null) return `the zone that holds ${baseName(dnsName)} could not be found.`;
    const finding = await nameServers.find({ ...wanted, zoneName });
    return finding.seen === 'everywhere' ? null : finding.problem;
  };
}
