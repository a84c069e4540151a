import { baseName } from '@certwright/dns-names';
import type { Outcome } from '@certwright/issuance';
import type { NameServers } from '../name-servers/name-servers';
import type { LookUp } from '@certwright/dns-lookup';
import type { WantedDelegation } from '../dns-lookup/standing-delegation';
import { zoneOf } from '../dns-lookup/zone-of';

/** Why the record does not count; null: it is in place. */
export type ParentSays = (
  dnsName: string,
  wanted: WantedDelegation,
  signal: AbortSignal,
) => Promise<Outcome | null>;

/**
 * Whether every authoritative server of the parent zone refers to the target. The child's own response must not
 * count: it has the platform's servers for any tenant's delegation, and would approve one tenant by the record of
 * another.
 */
export function parentDelegation(lookUp: LookUp, nameServers: Pick<NameServers, 'find'>): ParentSays {
  return async (dnsName, wanted, signal) => {
    const zoneName = await zoneOf(lookUp, baseName(dnsName), { signal });
    if (zoneName === null) return { code: 'dns_zone_unknown', dnsName: baseName(dnsName) };
    const finding = await nameServers.find({ ...wanted, zoneName }, signal);
    return finding.seen === 'everywhere' ? null : finding.problem;
  };
}
