import { isIPv4, isIPv6 } from 'node:net';

/** An IP address as its bytes in network order: 4 of them, or 16. */
export type Bytes = readonly number[];

/** `null` unless the text is exactly one address: no names, zones (`fe80::1%eth0`) or leading zeros. */
export function bytesOf(address: string): Bytes | null {
  if (isIPv4(address)) return address.split('.').map(Number);
  if (!isIPv6(address) || address.includes('%')) return null;
  const [head = '', tail] = dottedTailAsGroups(address).split('::');
  const before = groupsIn(head);
  const after = groupsIn(tail ?? '');
  const gap = tail === undefined ? 0 : 8 - before.length - after.length;
  return [...before, ...Array<number>(gap).fill(0), ...after].flatMap((group) => [group >> 8, group & 255]);
}

/** RFC 4291 §2.2, third form: the last 32 bits in dots. */
function dottedTailAsGroups(address: string): string {
  const at = address.lastIndexOf(':') + 1;
  const dotted = address.slice(at);
  if (!isIPv4(dotted)) return address;
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split('.').map(Number);
  return `${address.slice(0, at)}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}

const groupsIn = (text: string): number[] =>
  text === '' ? [] : text.split(':').map((group) => parseInt(group, 16));

/** A range of addresses of one family. */
export interface Network {
  readonly bytes: Bytes;
  readonly prefixBits: number;
}

/**
 * `192.0.2.0/24`, `2001:db8::/32`. `null` when it is not a network or has bits beyond the prefix: `10.1.2.3/8` is
 * probably a mistake.
 */
export function parseNetwork(text: string): Network | null {
  const [address = '', prefix, ...rest] = text.split('/');
  const bytes = bytesOf(address);
  if (bytes === null || prefix === undefined || rest.length > 0 || !/^(0|[1-9]\d{0,2})$/.test(prefix)) {
    return null;
  }
  const prefixBits = Number(prefix);
  if (prefixBits > bytes.length * 8) return null;
  const isBare = bytes.every((byte, at) => (byte & ~maskByte(prefixBits, at) & 255) === 0);
  return isBare ? { bytes, prefixBits } : null;
}

export function isWithin(address: Bytes, { bytes, prefixBits }: Network): boolean {
  return (
    address.length === bytes.length &&
    bytes.every((byte, at) => ((byte ^ (address[at] ?? 0)) & maskByte(prefixBits, at)) === 0)
  );
}

function maskByte(prefixBits: number, at: number): number {
  const bits = Math.min(8, Math.max(0, prefixBits - at * 8));
  return (0xff << (8 - bits)) & 0xff;
}

const ipv4Mapped: Network = { bytes: [...Array<number>(10).fill(0), 255, 255, 0, 0, 0, 0], prefixBits: 96 };

/**
 * The address that a socket reaches: `::ffff:192.0.2.1` is 192.0.2.1 (RFC 4291 §2.5.5.2); other addresses are
 * unchanged.
 */
export function unmapped(address: Bytes): Bytes {
  return isWithin(address, ipv4Mapped) ? address.slice(12) : address;
}

/** Shortest form (RFC 5952). */
export function addressText(address: Bytes): string {
  if (address.length === 4) return address.join('.');
  const groups = Array.from({ length: 8 }, (_, at) =>
    ((address[2 * at] ?? 0) * 256 + (address[2 * at + 1] ?? 0)).toString(16),
  );
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}
