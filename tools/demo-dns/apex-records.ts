import { isIPv4 } from 'node:net';
import { type DnsName, type ZoneRecord } from '@certwright/dns-authority';

/** Seconds. Short: whoever plays with the demo wants to see each change at once. */
export const DEMO_TTL_S = 5;

/**
 * What a new zone holds: SOA, NS with its address, and an address at the apex, where the demo's web server answers.
 */
export function apexRecords(apex: DnsName, dnsHost: string): ZoneRecord[] {
  const nameServer = `ns1.${apex}`;
  const address = isIPv4(dnsHost) && dnsHost !== '0.0.0.0' ? dnsHost : '127.0.0.1';
  const soa = {
    mname: nameServer,
    rname: `hostmaster.${apex}`,
    serial: 1,
    refresh: 3_600,
    retry: 600,
    expire: 604_800,
    minimum: DEMO_TTL_S,
  };
  return [
    { name: apex, type: 'SOA', ttl: DEMO_TTL_S, data: soa },
    { name: apex, type: 'NS', ttl: DEMO_TTL_S, data: nameServer },
    { name: apex, type: 'A', ttl: DEMO_TTL_S, data: address },
    { name: nameServer, type: 'A', ttl: DEMO_TTL_S, data: address },
  ];
}
