import { isIPv4 } from 'node:net';
import { type DnsName, type ZoneRecord } from '@certwright/dns-authority';

/** Short, so that changes are visible at once. */
export const DEMO_TTL_S = 5;

/**
 * Records of a new zone: SOA, NS with its address, and the address of the demo's web server at the apex.
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
