import { isIPv4, isIPv6 } from 'node:net';
import { type DnsName, parseName } from '@certwright/dns-authority';
import {
  integer,
  list,
  port,
  type Setting,
  SettingsError,
  type SettingValues,
  string,
} from '@certwright/service';

/** One copy of this process, with its public name and addresses. */
export interface NameServer {
  readonly name: DnsName;
  /** IPv4 and IPv6. */
  readonly addresses: readonly string[];
}

/** `ns1.example.net=192.0.2.1+2001:db8::1` */
const nameServer: Setting<NameServer> = {
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

/** The settings of the DNS server, which is off without `DNS_PORT`. */
export const dnsSettings = {
  DNS_HOST: string({
    meaning: 'IP address to listen on for DNS; a container needs 0.0.0.0 or ::',
    default: '127.0.0.1',
  }),
  DNS_PORT: port({
    meaning:
      'Port to listen on for DNS, UDP and TCP; resolvers query port 53; 0 takes any free one; empty: another server answers for the approval zone',
    default: null,
  }),
  APPROVAL_ZONE: string<null>({
    meaning:
      'The zone that is answered for, in which the targets of standing approval records lie; the same for every process; needed with DNS_PORT',
    pattern: /^(?=.{1,200}$)[a-z0-9-]+(\.[a-z0-9-]+)+$/,
    default: null,
  }),
  APPROVAL_NAME_SERVERS: list<NameServer>(nameServer, {
    meaning:
      'Name and public addresses of every copy of this process that answers DNS, as the parent zone delegates to them; the same for every copy; needed with DNS_PORT',
    default: [],
  }),
  APPROVAL_ZONE_CONTACT: string<null>({
    meaning: 'Mail address of who looks after the zone, for its SOA record; empty: hostmaster at the zone',
    pattern: /^[a-z0-9_-]{1,63}@(?=.{1,180}$)[a-z0-9-]+(\.[a-z0-9-]+)+$/,
    default: null,
  }),
  DNS_VALUE_TTL: integer({
    meaning: 'How long resolvers may keep a value; a second value for the same name is unseen for so long',
    unit: 's',
    min: 0,
    max: 60,
    default: 5,
  }),
  DNS_NEGATIVE_TTL: integer({
    meaning: 'How long resolvers may remember that there is nothing (RFC 2308)',
    unit: 's',
    min: 5,
    max: 30,
    default: 5,
  }),
  DNS_ANSWERS_PER_S: integer({
    meaning:
      'Answers over UDP to one network of askers (IPv4 /24, IPv6 /56); twice as many at once. Beyond it every second question is answered with TC, which leads to TCP, and the others not at all',
    unit: '1/s',
    min: 1,
    max: 1_000_000,
    default: 500,
  }),
  DNS_LOOKUPS: integer({
    meaning:
      'Questions that may look into the database at once; what Redis knows or a look at the name tells needs none. DATABASE_POOL_SIZE should be larger, for HTTP',
    unit: 'look-ups',
    min: 1,
    max: 100,
    default: 2,
  }),
} satisfies Readonly<Record<string, Setting<unknown>>>;

/** Constant in every response. */
export interface ZoneSettings {
  readonly apex: DnsName;
  /** At least one. */
  readonly nameServers: readonly NameServer[];
  /** In SOA format: a name whose first dot replaces the `@`. */
  readonly mailbox: DnsName;
  /** Seconds. */
  readonly valueTtlS: number;
  /** Seconds. */
  readonly negativeTtlS: number;
}

/**
 * @returns null when DNS is off
 * @throws SettingsError that names what is missing
 */
export function zoneSettings(config: SettingValues<typeof dnsSettings>): ZoneSettings | null {
  if (config.DNS_PORT === null) return null;
  const { APPROVAL_ZONE: apex, APPROVAL_NAME_SERVERS: nameServers, APPROVAL_ZONE_CONTACT: contact } = config;
  if (apex === null || nameServers.length === 0) {
    const name = apex === null ? 'APPROVAL_ZONE' : 'APPROVAL_NAME_SERVERS';
    throw new SettingsError([{ name, fault: 'is missing, while DNS_PORT is set' }]);
  }
  const mailbox = parseName((contact ?? `hostmaster@${apex}`).replace('@', '.'));
  if (parseName(apex) === undefined || mailbox === undefined) {
    const name = mailbox === undefined && contact !== null ? 'APPROVAL_ZONE_CONTACT' : 'APPROVAL_ZONE';
    throw new SettingsError([{ name, fault: 'is not a name that DNS can write' }]);
  }
  const { DNS_VALUE_TTL: valueTtlS, DNS_NEGATIVE_TTL: negativeTtlS } = config;
  return { apex, nameServers, mailbox, valueTtlS, negativeTtlS };
}
