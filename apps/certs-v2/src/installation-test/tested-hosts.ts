import { isIP } from 'node:net';
import { baseName, isWildcard, parseDnsName, quoteInput } from '@certwright/dns-names';
import { badParam } from '../wire/arguments';

/** Host names and addresses that a caller may name at once. */
export const mostAskedHosts = 20;

/**
 * The hosts that a caller names, each once, in the order in which they came: names in normal form, addresses in their
 * shortest one (RFC 5952), an IPv6 address also in brackets, as it stands in a URL.
 *
 * @param hostname values of the query parameter; empty ones mean nothing
 * @returns null: the caller names none
 * @throws Refusal `bad_param` on `hostname`
 */
export function readHosts(hostname: unknown): readonly string[] | null {
  const values = [hostname ?? []].flat().filter((value) => value !== '');
  const hosts = [...new Set(values.map(readHost))];
  if (hosts.length > mostAskedHosts) {
    throw badParam('hostname', 'bad_param', `may name at most ${mostAskedHosts} hosts in one test.`);
  }
  return hosts.length === 0 ? null : hosts;
}

function readHost(value: unknown): string {
  const refuse = (what: string) => badParam('hostname', 'bad_param', `${quoteInput(value)} ${what}.`);
  if (typeof value !== 'string') throw refuse('is no host name');
  const address = addressIn(value);
  if (address !== null) return address;
  const parsed = parseDnsName(value);
  // Nothing of the inside is looked up for anybody: such names end in what is no public suffix.
  if (!parsed.ok && parsed.code === 'not_public_domain') throw refuse('is not beneath a public suffix');
  if (!parsed.ok) throw refuse('is neither a host name nor an IP address');
  if (isWildcard(parsed.name)) throw refuse('is a wildcard: name a host that it covers');
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

/** The hosts that a certificate names: those that somebody's server can have the name of. */
export function hostsOf(dnsNames: readonly string[]): readonly string[] {
  const isHost = (name: string) => !isWildcard(name) && parseDnsName(name).ok;
  return [...new Set(dnsNames)].filter(isHost);
}

/**
 * What a server is asked for by name (SNI) where the caller names its address alone: the common name, else another name of
 * the certificate, else a name that a wildcard covers, as a visitor would type it.
 */
export function serverNameFor(cn: string, dnsNames: readonly string[]): string {
  if (!isWildcard(cn)) return cn;
  const [host] = hostsOf([...dnsNames, `www.${baseName(cn)}`]);
  // Only a base name of 250 characters and more has no room for a label before it.
  return host ?? baseName(cn);
}
