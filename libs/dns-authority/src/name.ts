import { WireFault } from './wire-fault';

/**
 * Names are compared as text: lower case, no trailing dot, '' for the root. A byte that would make the text ambiguous
 * (a dot or a backslash inside a label, anything not printable) is written `\DDD`, so that two texts are equal
 * exactly when DNS considers the names equal (RFC 4343).
 */
export type DnsName = string;

/** RFC 1035 section 2.3.4, in bytes; the name's length counts its length bytes and the root. */
const LABEL_LIMIT = 63;
const NAME_LIMIT = 255;

export const HEADER_BYTES = 12;

/** Printable ASCII without `.` and `\`. */
const PLAIN_LABEL = /^[!-\-/-[\]-~]+$/;
const HOST_LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/**
 * @returns the name at `start` and where the bytes after it begin
 * @throws WireFault past the message's end, for a label over 63 or a name over 255 bytes, and for a compression
 * pointer that does not lead to an earlier name (so a loop cannot be written).
 */
export function readName(message: Buffer, start: number): { name: DnsName; next: number } {
  const labels: string[] = [];
  let at = start;
  let next: number | undefined;
  let bytes = 1;
  for (let floor = start; ;) {
    const length = message[at];
    if (length === undefined) throw new WireFault('a name runs past the end');
    if (length === 0) return { name: labels.join('.'), next: next ?? at + 1 };
    if (length >= 0xc0) {
      const low = message[at + 1];
      if (low === undefined) throw new WireFault('a compression pointer runs past the end');
      next ??= at + 2;
      at = ((length & 0x3f) << 8) | low;
      if (at >= floor || at < HEADER_BYTES) throw new WireFault('a compression pointer leads nowhere');
      floor = at;
      continue;
    }
    bytes += length + 1;
    if (length > LABEL_LIMIT || bytes > NAME_LIMIT) throw new WireFault('a name is too long');
    if (at + 1 + length > message.length) throw new WireFault('a name runs past the end');
    labels.push(labelText(message, at + 1, length));
    at += 1 + length;
  }
}

function labelText(message: Buffer, start: number, length: number): string {
  const text = message.toString('latin1', start, start + length);
  if (PLAIN_LABEL.test(text)) return text.toLowerCase();
  // Only ASCII letters have a case in DNS; toLowerCase() would also fold Latin-1 letters.
  return text.replace(/[^]/g, (byte) =>
    PLAIN_LABEL.test(byte) ? byte.toLowerCase() : '\\' + String(byte.charCodeAt(0)).padStart(3, '0'),
  );
}

/**
 * The name written in `text` (any case, with or without the trailing dot), or `undefined` unless its labels are
 * letters, digits, `-` and `_`. Without this check a long label would be written as a compression pointer.
 */
export function parseName(text: string): DnsName | undefined {
  const name = (text.endsWith('.') ? text.slice(0, -1) : text).toLowerCase();
  // The text omits two bytes of a name: the first length and the root.
  if (name.length + 2 > NAME_LIMIT) return undefined;
  return name.split('.').every((label) => HOST_LABEL.test(label)) ? name : undefined;
}

/** The uncompressed wire form of a name from `readName` or `parseName`. */
export function nameBytes(name: DnsName): Buffer {
  if (name === '') return Buffer.of(0);
  const labels = name.split('.').map((label) => {
    const text = label.replace(/\\(\d{3})/g, (_, code: string) => String.fromCharCode(Number(code)));
    return Buffer.concat([Buffer.of(text.length), Buffer.from(text, 'latin1')]);
  });
  return Buffer.concat([...labels, Buffer.of(0)]);
}

export function isAtOrBelow(name: DnsName, ancestor: DnsName): boolean {
  return ancestor === '' || name === ancestor || name.endsWith('.' + ancestor);
}

/**
 * The names strictly between `apex` and `name`, and `name` itself unless it is the apex; the one nearest the apex
 * first.
 */
export function pathBelow(apex: DnsName, name: DnsName): DnsName[] {
  const path: DnsName[] = [];
  for (let at = name; at !== apex && at !== '';) {
    path.push(at);
    const dot = at.indexOf('.');
    at = dot === -1 ? '' : at.slice(dot + 1);
  }
  return path.reverse();
}
