import {
  addressText,
  isWithin,
  type Network,
  bytesOf,
  parseNetwork,
  type Bytes,
  unmapped,
} from './ip-address';

/**
 * IANA IPv4 Special-Purpose Address Registry (RFC 6890, as of 2026-11), plus multicast (RFC 5771) and one address of a
 * platform. Entries that the registry calls globally reachable (AS112, AMT) stand here too: no customer's host is there.
 */
const ipv4 = table([
  ['0.0.0.0/8', 'this network'], // RFC 791 §3.2: 0.0.0.0 reaches the machine itself on most systems
  ['10.0.0.0/8', 'private use'], // RFC 1918
  ['100.64.0.0/10', 'shared by carrier-grade NAT'], // RFC 6598
  ['127.0.0.0/8', 'loopback'], // RFC 1122 §3.2.1.3
  ['168.63.129.16/32', 'platform service of a cloud'], // public by number, but answered by the host of each Azure machine
  ['169.254.0.0/16', 'link-local'], // RFC 3927; cloud machines find their credentials at 169.254.169.254
  ['172.16.0.0/12', 'private use'], // RFC 1918
  ['192.0.0.0/24', 'IETF protocol assignments'], // RFC 6890 §2.1
  ['192.0.2.0/24', 'documentation'], // RFC 5737
  ['192.31.196.0/24', 'AS112'], // RFC 7535
  ['192.52.193.0/24', 'AMT'], // RFC 7450
  ['192.88.99.0/24', '6to4 relay anycast'], // RFC 7526
  ['192.168.0.0/16', 'private use'], // RFC 1918
  ['192.175.48.0/24', 'AS112'], // RFC 7534
  ['198.18.0.0/15', 'benchmarking'], // RFC 2544
  ['198.51.100.0/24', 'documentation'], // RFC 5737
  ['203.0.113.0/24', 'documentation'], // RFC 5737
  ['224.0.0.0/4', 'multicast'], // RFC 5771
  ['255.255.255.255/32', 'limited broadcast'], // RFC 919 §7
  ['240.0.0.0/4', 'reserved'], // RFC 1112 §4
]);

/**
 * IANA IPv6 Special-Purpose Address Registry (as of 2026-11) and RFC 4291. The first entry that holds an address names it.
 */
const ipv6 = table([
  ['::/128', 'unspecified'], // RFC 4291 §2.5.2: reaches the machine itself on most systems
  ['::1/128', 'loopback'], // RFC 4291 §2.5.3
  ['::/96', 'IPv4-compatible'], // RFC 4291 §2.5.5.1, deprecated
  ['64:ff9b:1::/48', 'local-use translation to IPv4'], // RFC 8215
  ['100::/64', 'discard-only'], // RFC 6666
  ['100:0:0:1::/64', 'dummy prefix'], // RFC 9780
  ['2001::/32', 'Teredo'], // RFC 4380: a tunnel to whatever IPv4 address is hidden in it
  ['2001:2::/48', 'benchmarking'], // RFC 5180
  ['2001:10::/28', 'ORCHID'], // RFC 4843, deprecated
  ['2001:20::/28', 'ORCHIDv2'], // RFC 7343: not routed
  ['2001::/23', 'IETF protocol assignments'], // RFC 2928
  ['2001:db8::/32', 'documentation'], // RFC 3849
  ['2620:4f:8000::/48', 'AS112'], // RFC 7534
  ['3fff::/20', 'documentation'], // RFC 9637
  ['5f00::/16', 'segment routing'], // RFC 9602
  ['fc00::/7', 'unique local'], // RFC 4193
  ['fe80::/10', 'link-local'], // RFC 4291 §2.5.6
  ['fec0::/10', 'site-local'], // RFC 3879, deprecated
  ['ff00::/8', 'multicast'], // RFC 4291 §2.7
]);

/** IPv4 addresses inside IPv6 ones: where they stand, and what reaches them. The mapped form is unmapped before. */
const embeddings = [
  { network: network('64:ff9b::/96'), firstByte: 12, name: 'translation to IPv4' }, // RFC 6052
  { network: network('2002::/16'), firstByte: 2, name: '6to4' }, // RFC 3056
];

/** RFC 4291 §2.4: of the rest, only this range is allocated; there are no public hosts outside it. */
const globalUnicast = network('2000::/3');

/**
 * Describes why an address is special (`loopback, 127.0.0.0/8`); `null` for a public address. An IPv4 address within
 * an IPv6 one (mapped, 64:ff9b::/96, 6to4) is checked itself; Teredo, IPv4-compatible and local-use translation are
 * always special. An invalid address is special too, so that no connection is made to it.
 */
export function specialPurposeOf(address: string): string | null {
  const bytes = bytesOf(address);
  return bytes === null ? 'not an IP address' : specialPurposeOfBytes(unmapped(bytes));
}

function specialPurposeOfBytes(bytes: Bytes): string | null {
  const entry = (bytes.length === 4 ? ipv4 : ipv6).find((each) => isWithin(bytes, each.network));
  if (entry !== undefined) return `${entry.name}, ${entry.text}`;
  if (bytes.length === 4) return null;
  const embedding = embeddings.find((each) => isWithin(bytes, each.network));
  if (embedding !== undefined) {
    const { firstByte, name } = embedding;
    const held = specialPurposeOfBytes(bytes.slice(firstByte, firstByte + 4));
    return held === null ? null : `${name} of ${held}`;
  }
  return isWithin(bytes, globalUnicast) ? null : 'not global unicast, outside 2000::/3';
}

interface Entry {
  readonly network: Network;
  readonly name: string;
  /** As written in the registry. */
  readonly text: string;
}

function table(rows: readonly (readonly [string, string])[]): readonly Entry[] {
  return rows.map(([text, name]) => ({ network: network(text), name, text }));
}

function network(text: string): Network {
  const parsed = parseNetwork(text);
  if (parsed === null) throw new Error(`${text} is no network.`);
  return parsed;
}

/** @internal For the table test: first and last address of every entry. */
export const specialNetworks: readonly {
  readonly text: string;
  readonly first: string;
  readonly last: string;
}[] = [...ipv4, ...ipv6].map(({ text, network: { bytes, prefixBits } }) => ({
  text,
  first: addressText(bytes),
  last: addressText(bytes.map((byte, at) => byte | (0xff >> Math.min(8, Math.max(0, prefixBits - at * 8))))),
}));
