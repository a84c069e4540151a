import type { DerCursor, DerSpan } from './der-cursor';
import type { Faults } from './faults';
import type { NameSet } from './name-set';
import { isText } from './text';

/** GeneralName (RFC 5280, section 4.2.1.6): dNSName, IMPLICIT [2]; and the same in BER's constructed form. */
const dnsName = 0x82;
const cutDnsName = 0xa2;

/** rfc822Name and uniformResourceIdentifier: names of other kinds, unless they are not. */
const [mailbox, uri, address] = [0x81, 0x86, 0x87];

/** otherName, x400Address, directoryName, ediPartyName, registeredID. */
const otherKinds: readonly number[] = [0xa0, 0xa3, 0xa4, 0xa5, 0x88];

const sequence = 0x30;
const objectIdentifier = 0x06;

/** Every DNS name of a SubjectAltName. Addresses, mailboxes and URIs are skipped. */
export function addAlternativeNames(cursor: DerCursor, value: DerSpan, into: NameSet, faults: Faults): void {
  if (value.tag !== sequence) faults.add('alternative_names');
  for (let at = value.start; cursor.moveTo(at, value.end);) {
    const { tag, start, end } = cursor;
    at = cursor.next;
    if (tag === dnsName) into.addDnsName(cursor.bytes, start, end);
    else if (tag === cutDnsName) {
      faults.add('alternative_names');
      if (cursor.moveTo(start, end)) into.addDnsName(cursor.bytes, cursor.start, cursor.end);
    } else if (isOddKind(cursor.bytes, tag, start, end)) into.addOddText(cursor.bytes, start, end);
  }
}

/** Whether the tag and the content of a GeneralName contradict each other: a client may take it for a DNS name. */
function isOddKind(bytes: Buffer, tag: number, start: number, end: number): boolean {
  if (tag === mailbox) return !bytes.subarray(start, end).includes('@');
  if (tag === uri) return !bytes.subarray(start, end).includes(':');
  if (tag === address) return end - start !== 4 && end - start !== 16;
  return !otherKinds.includes(tag);
}

/**
 * Every common name of a subject: a SEQUENCE of SETs of SEQUENCEs of type and value (RFC 5280, section
 * 4.1.2.4).
 */
export function addCommonNames(cursor: DerCursor, subject: DerSpan, into: NameSet, faults: Faults): void {
  for (let at = subject.start; cursor.moveTo(at, subject.end);) {
    const { start, end } = cursor;
    const next = cursor.next;
    for (let attribute = start; cursor.moveTo(attribute, end);) {
      attribute = cursor.next;
      addIfCommonName(cursor, cursor.start, cursor.end, into, faults);
    }
    at = next;
  }
}

function addIfCommonName(cursor: DerCursor, start: number, end: number, into: NameSet, faults: Faults): void {
  if (!cursor.moveTo(start, end) || cursor.tag !== objectIdentifier) return;
  if (!isCommonName(cursor.bytes, cursor.start, cursor.end)) return;
  if (!cursor.moveTo(cursor.next, end)) return faults.add('common_name');
  if (!isText(cursor.tag)) faults.add('common_name');
  into.addCommonName(cursor.bytes, cursor);
}

/** 2.5.4.3 */
function isCommonName(bytes: Buffer, start: number, end: number): boolean {
  return end - start === 3 && bytes[start] === 0x55 && bytes[start + 1] === 0x04 && bytes[start + 2] === 0x03;
}
