import type { DerElement } from './der-element';
import { DerError } from './der-error';
import { latin1, tags } from './der-primitives';

/** Reads a value out of an element that `parseDer` has already found to be canonical. All throw DerError for another type. */

export function isUniversal(element: DerElement, tagNumber: number): boolean {
  return element.tagClass === 'universal' && element.tagNumber === tagNumber;
}

export function isContext(element: DerElement, tagNumber: number): boolean {
  return element.tagClass === 'context' && element.tagNumber === tagNumber;
}

export function expectUniversal(element: DerElement, tagNumber: number, what: string): DerElement {
  if (!isUniversal(element, tagNumber))
    throw new DerError(`${what} is of another type than it should be`, element.offset);
  return element;
}

/** Two's complement (X.690, section 8.3.3). Linear in the length: the digits go through hexadecimal text. */
export function integerValue(element: DerElement, what: string): bigint {
  const { content } = expectUniversal(element, tags.integer, what);
  const magnitude = unsignedInteger(content);
  return (content[0] ?? 0) >= 0x80 ? magnitude - (1n << BigInt(8 * content.length)) : magnitude;
}

/** Big-endian; zero bytes mean 0. */
export function unsignedInteger(bytes: Uint8Array): bigint {
  return bytes.length === 0 ? 0n : BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
}

export function booleanValue(element: DerElement, what: string): boolean {
  return expectUniversal(element, tags.boolean, what).content[0] === 0xff;
}

export function octetStringValue(element: DerElement, what: string): Uint8Array {
  return expectUniversal(element, tags.octetString, what).content;
}

/** A whole number of bytes, as every key and signature has. */
export function bitStringBytes(element: DerElement, what: string): Uint8Array {
  const { content, offset } = expectUniversal(element, tags.bitString, what);
  if (content[0] !== 0) throw new DerError(`${what} does not consist of whole bytes`, offset);
  return content.subarray(1);
}

/** In dotted form (X.690, section 8.19.4: the first two arcs share one number). */
export function objectIdentifierValue(element: DerElement, what: string): string {
  const { content } = expectUniversal(element, tags.objectIdentifier, what);
  let text = '';
  let start = 0;
  for (let at = 0; at < content.length; at += 1) {
    if ((content[at] ?? 0) >= 0x80) continue;
    const arc = arcAt(content, start, at);
    text += text === '' ? firstArcs(arc) : `.${arc}`;
    start = at + 1;
  }
  return text;
}

/** Bytes of an arc whose number is exact: 49 bits. */
const maxExactBytes = 7;

function arcAt(content: Uint8Array, start: number, last: number): number | bigint {
  if (last - start < maxExactBytes) {
    let arc = 0;
    for (let at = start; at <= last; at += 1) arc = arc * 0x80 + ((content[at] ?? 0) & 0x7f);
    return arc;
  }
  return content.subarray(start, last + 1).reduce((arc, byte) => (arc << 7n) | BigInt(byte & 0x7f), 0n);
}

function firstArcs(joined: number | bigint): string {
  if (typeof joined === 'bigint') return `2.${joined - 80n}`;
  if (joined < 40) return `0.${joined}`;
  return joined < 80 ? `1.${joined - 40}` : `2.${joined - 80}`;
}

/** The text of a DirectoryString or IA5String (RFC 5280, section 4.1.2.4). Teletex is read as Latin-1, as usual. */
export function textValue(element: DerElement, what: string): string {
  const { content, tagClass, tagNumber, offset } = element;
  if (tagClass === 'universal') {
    switch (tagNumber) {
      case tags.utf8String:
        return Buffer.from(content).toString('utf8');
      case tags.printableString:
      case tags.teletexString:
      case tags.ia5String:
      case tags.numericString:
      case tags.visibleString:
        return latin1(content);
      case tags.bmpString:
        return Buffer.from(content).swap16().toString('utf16le');
      case tags.universalString:
        return utf32Text(content, what, offset);
    }
  }
  throw new DerError(`${what} is not text`, offset);
}

function utf32Text(content: Uint8Array, what: string, offset: number): string {
  const view = new DataView(content.buffer, content.byteOffset, content.byteLength);
  let text = '';
  for (let at = 0; at < content.length; at += 4) {
    const codePoint = view.getUint32(at);
    if (codePoint > 0x10ffff) throw new DerError(`${what} has a character outside Unicode`, offset);
    text += String.fromCodePoint(codePoint);
  }
  return text;
}

/** UTCTime through 2049, GeneralizedTime without fractions from then on (RFC 5280, section 4.1.2.5). */
export function timeValue(element: DerElement, what: string): Date {
  const text = latin1(element.content);
  const utc = isUniversal(element, tags.utcTime);
  if (!utc && !isUniversal(element, tags.generalizedTime))
    throw new DerError(`${what} is not a time`, element.offset);
  const century = text < '5' ? '20' : '19';
  const digits = utc ? `${century}${text.slice(0, 12)}` : text.slice(0, -1);
  const parts = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(digits);
  if (parts === null) throw new DerError(`${what} has fractions of a second`, element.offset);
  const [year, month, day, hour, minute, second] = parts.slice(1);
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  const time = new Date(iso);
  // 30 February rolls over to March, and 61 seconds are no date: formatting the date again detects both.
  if (Number.isNaN(time.getTime()) || time.toISOString() !== iso) {
    throw new DerError(`${what} is no day and time of the calendar`, element.offset);
  }
  return time;
}
