import type { DerCursor, DerSpan } from './der-cursor';
import type { Faults } from './faults';
import type { NameSet } from './name-set';
import { isText } from './text';

/** GeneralName (RFC 5280, section 4.2.1.6): dNSName, IMPLICIT [2]; and the same in BER's constructed form. */
const dnsName = 0x82;
const cutDnsName = 0xa2;

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
    }
  }
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
