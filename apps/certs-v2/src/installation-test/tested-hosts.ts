import { isIP } from 'node:net';
import { baseName, isWildcard, parseDnsName, quoteInput } from '@certwright/dns-names';
import { Unreadable } from '@certwright/service';
import { type Reading, unreadable } from '../wire/arguments';
import type { ReasonCode } from '../wire/reasons';

/** Host names and addresses that a caller may name at once. */
export const maxRequestedHosts = 20;

/**
 * The hosts that a caller names, without duplicates, in the given order: names in normal form, addresses in their
 * canonical form (RFC 5952), an IPv6 address also in brackets, as in a URL.
 *
 * @param values of the query parameter; none: the caller names no hosts
 */
export function readHosts(values: readonly unknown[]): Reading<readonly string[]> {
  const hosts = new Set<string>();
  for (const value of values) {
    const host = readHost(value);
    if (host instanceof Unreadable) return host;
    hosts.add(host);
  }
  if (hosts.size > maxRequestedHosts) {
    return unreadable('bad_param', `hostname may name at most ${maxRequestedHosts} hosts in one test.`);
  }
  return hosts.size === 0 ? undefined : [...hosts];
}

function readHost(value: unknown): string | Unreadable<ReasonCode> {
  const refused = (what: string) => unreadable('bad_param', `hostname: ${quoteInput(value)} ${what}.`);
  if (typeof value !== 'string') return refused('is not a host name');
  const address = addressIn(value);
  if (address !== null) return address;
  const parsed = parseDnsName(value);
  // Internal names are never looked up: they do not end in a public suffix.
  if (!parsed.ok && parsed.code === 'not_public_domain') return refused('is not beneath a public suffix');
  if (!parsed.ok) return refused('is neither a host name nor an IP address');
  if (isWildcard(parsed.name)) return refused('is a wildcard: name a host that it covers');
  return parsed.name;
}

function addressIn(text: string): string | null {
  const bare = text.replace(/^\[(.*)\]$/, '$1');
  const isBracketed = bare !== text;
  const family = isIP(bare);
  // A zone (`fe80::1%eth0`) means something on one machine only.
  if (family === 0 || bare.includes('%') || (isBracketed && family === 4)) return null;
  return family === 4 ? bare : new URL(`http://[${bare}]`).hostname.slice(1, -1);
}

/** The hosts that a certificate names and that a public server can have. */
export function hostsOf(dnsNames: readonly string[]): readonly string[] {
  const isHost = (name: string) => !isWildcard(name) && parseDnsName(name).ok;
  return [...new Set(dnsNames)].filter(isHost);
}

/**
 * Server name (SNI) when the caller gives only an address: the common name, else another name of the certificate,
 * else a name that a wildcard covers, as a visitor would type it.
 */
export function serverNameFor(cn: string, dnsNames: readonly string[]): string {
  if (!isWildcard(cn)) return cn;
  const [host] = hostsOf([...dnsNames, `www.${baseName(cn)}`]);
  // Only a base name of 250 characters and more has no room for a label before it.
  return host ?? baseName(cn);
}
