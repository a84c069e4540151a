import { isIP } from 'node:net';

/**
 * The key under which an address is counted: an IPv4 address itself; of an IPv6 address the /64, since it is the
 * smallest network of one customer (RFC 6177).
 *
 * @param forwarded the client address according to the trusted proxies (`X-Forwarded-For`); may be anything
 * @param peer address of the TCP connection, used when `forwarded` is not an IP address
 */
export function addressKey(forwarded: string | undefined, peer: string | undefined): string {
  const address = [forwarded, peer].find((each) => each !== undefined && isIP(each) !== 0);
  if (address === undefined) return 'unknown';
  if (isIP(address) === 4) return address;
  const [withoutZone = ''] = address.split('%');
  const groups = groupsOf(withoutZone);
  const mapped = mappedIpv4(groups);
  return (
    mapped ??
    `${groups
      .slice(0, 4)
      .map((group) => group.toString(16))
      .join(':')}::/64`
  );
}

/**
 * Removes ports from `X-Forwarded-For`: some proxies write `ip:port` and `[ip]:port`, which match neither a trusted
 * proxy nor a client. Other elements stay unchanged.
 */
export function withoutPorts(forwarded: string): string {
  if (!/[:[]/.test(forwarded)) return forwarded;
  return forwarded
    .split(',')
    .map((element) => withoutPort(element.trim()))
    .join(',');
}

function withoutPort(element: string): string {
  const [, six, four, port = '0'] = /^(?:\[([^\]]+)\]|([\d.]+)(?=:))(?::(\d{1,5}))?$/.exec(element) ?? [];
  const isAddress = (six !== undefined && isIP(six) === 6) || (four !== undefined && isIP(four) === 4);
  return isAddress && Number(port) <= 65_535 ? (six ?? four ?? element) : element;
}

/** The eight 16-bit groups of an IPv6 address (RFC 4291 §2.2), an IPv4 tail included. */
function groupsOf(address: string): readonly number[] {
  const hex = address.replace(
    /(\d+)\.(\d+)\.(\d+)\.(\d+)$/,
    (_match, a: string, b: string, c: string, d: string) =>
      [Number(a) * 256 + Number(b), Number(c) * 256 + Number(d)].map((group) => group.toString(16)).join(':'),
  );
  const [head = '', tail] = hex.split('::');
  const before = parseGroups(head);
  if (tail === undefined) return before;
  const after = parseGroups(tail);
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

const parseGroups = (text: string): number[] =>
  text === '' ? [] : text.split(':').map((each) => parseInt(each, 16));

/** A dual-stack socket reports an IPv4 peer as `::ffff:192.0.2.1` (RFC 4291 §2.5.5.2). */
function mappedIpv4(groups: readonly number[]): string | undefined {
  const [a, b, c, d, e, f, high = 0, low = 0] = groups;
  const isMapped = [a, b, c, d, e].every((group) => group === 0) && f === 0xffff;
  return isMapped ? [high >> 8, high & 255, low >> 8, low & 255].join('.') : undefined;
}
