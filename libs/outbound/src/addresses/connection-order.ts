import { addressText, type Bytes, bytesOf, unmapped } from './ip-address';

/** The form of RFC 5952; an IPv4-mapped address as IPv4. @param address a valid IP address */
export const shortest = (address: string): string => addressText(unmapped(bytesOf(address) as Bytes));

/**
 * Valid IP addresses in their shortest form, each once, alternating between families, IPv6 first (RFC 8305 §4). They are not
 * checked: connections to them go through an `AddressGuard`.
 */
export function connectionOrder(addresses: readonly string[]): string[] {
  const once = [...new Set(addresses.map(shortest))];
  const six = once.filter((address) => address.includes(':'));
  const four = once.filter((address) => !address.includes(':'));
  return Array.from({ length: Math.max(six.length, four.length) }, (_, at) => [six[at], four[at]])
    .flat()
    .filter((address) => address !== undefined);
}

/** Bits of a network that usually has one operator. */
const networkBits = { four: 24, six: 48 };

/** The IPv4 /24 or IPv6 /48 of a valid IP address: `192.0.2.0/24`. */
export function networkOf(address: string): string {
  const bytes = unmapped(bytesOf(address) as Bytes);
  const bits = bytes.length === 4 ? networkBits.four : networkBits.six;
  return `${addressText(bytes.map((byte, at) => (at < bits / 8 ? byte : 0)))}/${bits}`;
}
