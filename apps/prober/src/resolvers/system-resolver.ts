import { isIP } from 'node:net';

const dnsPort = 53;

/** Reads an entry of `dns.getServers()`: `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1`, `[2001:db8::1]:5353`. */
export function systemResolver(text: string): { readonly host: string; readonly port: number } {
  if (isIP(text) !== 0) return { host: text, port: dnsPort };
  const colon = text.lastIndexOf(':');
  return { host: text.slice(0, colon).replace(/^\[(.*)\]$/, '$1'), port: Number(text.slice(colon + 1)) };
}
