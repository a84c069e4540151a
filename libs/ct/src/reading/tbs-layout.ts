import type { DerCursor, DerSpan } from './der-cursor';
import type { Faults } from './faults';

const tags = { integer: 0x02, sequence: 0x30, version: 0xa0, extensions: 0xa3 } as const;

/** IMPLICIT [1] and [2] (RFC 5280, section 4.1): unique identifiers, which are unused in practice. */
const uniqueIdentifiers: readonly number[] = [0x81, 0x82, 0xa1, 0xa2];

/** Locations of the parts of a TBSCertificate. */
export interface TbsLayout {
  readonly tbs: DerSpan;
  readonly serial: DerSpan | null;
  readonly issuer: DerSpan | null;
  readonly validity: DerSpan | null;
  readonly subject: DerSpan | null;
  readonly spki: DerSpan | null;
  /** The [3] around the Extensions. */
  readonly extensions: DerSpan | null;
}

/** Positions in RFC 5280, section 4.1, between the version and the optional parts; 1 is the signature algorithm. */
const place = { serial: 0, issuer: 2, validity: 3, subject: 4, spki: 5 } as const;
const places = 6;

/** Finds the TBSCertificate of a Certificate; null when there is no candidate. */
export function findTbs(cursor: DerCursor, faults: Faults): DerSpan | null {
  const { length } = cursor.bytes;
  if (!cursor.moveTo(0, length) || cursor.tag !== tags.sequence) return null;
  const { start, end, next } = cursor;
  if (next < length) faults.add('trailing_bytes');
  if (!cursor.moveTo(start, end) || cursor.tag !== tags.sequence) return null;
  return cursor.span();
}

/** A TBSCertificate that is the whole input, as in a log's leaf. */
export function wholeTbs(cursor: DerCursor, faults: Faults): DerSpan | null {
  const { length } = cursor.bytes;
  if (!cursor.moveTo(0, length) || cursor.tag !== tags.sequence) return null;
  if (cursor.next < length) faults.add('trailing_bytes');
  return cursor.span();
}

/**
 * Reads the TBSCertificate by position, and skips parts with a wrong tag: a
 * malformed certificate still counts for its names.
 */
export function layOut(cursor: DerCursor, tbs: DerSpan, faults: Faults): TbsLayout {
  const found: (DerSpan | null)[] = [null];
  let extensions: DerSpan | null = null;
  let part = 0;
  for (let at = tbs.start; cursor.moveTo(at, tbs.end); at = cursor.next) {
    const { tag } = cursor;
    if (tag === tags.extensions) {
      if (extensions === null) extensions = cursor.span();
      else faults.add('wrong_tag');
    } else if (tag === tags.version && at === tbs.start) {
      continue;
    } else if (part === places) {
      if (!uniqueIdentifiers.includes(tag)) faults.add('wrong_tag');
    } else {
      // A SEQUENCE in place of the serial number is the part after it.
      if (part === 0 && tag === tags.sequence) part = 1;
      if (tag !== (part === 0 ? tags.integer : tags.sequence)) faults.add('wrong_tag');
      found[part++] = cursor.span();
    }
  }
  const serial = found[place.serial] ?? null;
  if (serial === null || part < places) faults.add('missing_part');
  return {
    tbs,
    serial,
    issuer: found[place.issuer] ?? null,
    validity: found[place.validity] ?? null,
    subject: found[place.subject] ?? null,
    spki: found[place.spki] ?? null,
    extensions,
  };
}
