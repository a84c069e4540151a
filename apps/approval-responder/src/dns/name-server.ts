import { isIPv4, isIPv6 } from 'node:net';
import { type DnsName, parseName } from '@certwright/dns-authority';
import type { Setting } from '@certwright/service';

/** One copy of this process, as the public reaches it. */
export interface NameServer {
  readonly name: DnsName;
  /** IPv4 and IPv6. */
  readonly addresses: readonly string[];
}

/** `ns1.example.net=192.0.2.1+2001:db8::1` */
export const nameServer: Setting<NameServer> = {
  meaning: 'A name server',
  unit: 'name=address+address',
  secret: false,
  read: (text) => {
    const [name = '', addresses = '', ...more] = text.split('=');
    const parsed = parseName(name);
    if (parsed === undefined || !parsed.includes('.') || more.length > 0)
      return { fault: 'is not written name=address or name=address+address' };
    const each = addresses.split('+');
    return each.every(isAddress)
      ? { value: { name: parsed, addresses: each } }
      : { fault: `gives ${parsed} something that is not an IP address` };
  },
  show: ({ name, addresses }) => `${name}=${addresses.join('+')}`,
};

const isAddress = (text: string): boolean => isIPv4(text) || (isIPv6(text) && !text.includes('%'));
