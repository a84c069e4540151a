import type { DerCursor, DerSpan } from '../reading/der-cursor';
import { maxExtensions, readExtensions } from './extensions';

/** The scope of a list (RFC 5280, section 5.2). */
export interface CrlScope {
  /** Decimal digits; null: absent or negative. */
  readonly number: string | null;
  /** A delta CRL, with only the changes since another list. */
  readonly isDelta: boolean;
  /** URLs of its issuing distribution point; null: not limited to a URL. */
  readonly places: readonly string[] | null;
  /** Certificates of subscribers are in its scope: it is not limited to CA or attribute certificates. */
  readonly hasUserCertificates: boolean;
  /** All reasons are in its scope. */
  readonly hasAllReasons: boolean;
  /** Entries may be of other issuers (indirect CRL). */
  readonly isIndirect: boolean;
  /** There is an unsupported critical extension: a certificate that is not on the list is not known to be good (section 5.2). */
  readonly hasUnknownCritical: boolean;
}

/** 2.5.29.20, .27, .28 and .35, the last of which only identifies the signing key. */
const known = { number: '551d14', delta: '551d1b', issuingDistributionPoint: '551d1c', keyId: '551d23' };

const tags = { integer: 0x02, sequence: 0x30 } satisfies Record<string, number>;

/** RFC 5280, section 5.2.5, by context-specific tag. */
const points = {
  distributionPoint: 0xa0,
  userOnly: 0x81,
  authoritiesOnly: 0x82,
  someReasons: 0x83,
  indirect: 0x84,
  attributesOnly: 0x85,
} satisfies Record<string, number>;

/** GeneralNames of the fullName, and the URI of a GeneralName (section 4.2.1.6). */
const [fullName, uri] = [0xa0, 0x86];

/** Section 5.2.3: max 20 bytes; some have more. */
const maxNumberLength = 32;

/** Max number of URLs of a list, and max bytes of each. */
const maxPlaces = 64;
const maxPlaceLength = 1_024;

interface Found {
  number: string | null;
  isDelta: boolean;
  places: string[] | null;
  hasUserCertificates: boolean;
  hasAllReasons: boolean;
  isIndirect: boolean;
  hasUnknownCritical: boolean;
}

export function readCrlExtensions(cursor: DerCursor, wrapper: DerSpan | null): CrlScope {
  const found: Found = {
    number: null,
    isDelta: false,
    places: null,
    hasUserCertificates: true,
    hasAllReasons: true,
    isIndirect: false,
    hasUnknownCritical: false,
  };
  if (wrapper === null) return found;
  const extensions = readExtensions(cursor, wrapper);
  // Bytes may follow it.
  if (extensions.length === maxExtensions) found.hasUnknownCritical = true;
  for (const { id, critical, value } of extensions) {
    if (id === known.number) found.number = readNumber(cursor, value);
    else if (id === known.delta) found.isDelta = true;
    else if (id === known.issuingDistributionPoint) readPoint(cursor, value, found);
    else if (critical && id !== known.keyId) found.hasUnknownCritical = true;
  }
  return found;
}

function readNumber(cursor: DerCursor, value: DerSpan): string | null {
  if (!cursor.moveTo(value.start, value.end) || cursor.tag !== tags.integer) return null;
  const { bytes, start, end } = cursor;
  if (end === start || end - start > maxNumberLength || ((bytes[start] ?? 0) & 0x80) !== 0) return null;
  return BigInt(`0x${bytes.toString('hex', start, end)}`).toString();
}

function readPoint(cursor: DerCursor, value: DerSpan, found: Found): void {
  if (!cursor.moveTo(value.start, value.end) || cursor.tag !== tags.sequence) {
    found.hasUnknownCritical = true;
    return;
  }
  const { start, end } = cursor;
  for (let at = start; cursor.moveTo(at, end);) {
    at = cursor.next;
    const { tag } = cursor;
    // FALSE is the default and should be absent; if it is encoded, its value counts.
    const isTrue = cursor.end > cursor.start && cursor.bytes[cursor.start] !== 0;
    if (tag === points.distributionPoint) found.places = readPlaces(cursor);
    else if (tag === points.someReasons) found.hasAllReasons = false;
    else if (tag === points.indirect) found.isIndirect = isTrue;
    else if (tag === points.authoritiesOnly || tag === points.attributesOnly)
      found.hasUserCertificates &&= !isTrue;
    else if (tag !== points.userOnly) found.hasUnknownCritical = true;
  }
}

/** URIs of the distribution point at the cursor. Names relative to the issuer are ignored. */
function readPlaces(cursor: DerCursor): string[] {
  const places: string[] = [];
  if (!cursor.moveTo(cursor.start, cursor.end) || cursor.tag !== fullName) return places;
  const { start, end, bytes } = cursor;
  for (let at = start; places.length < maxPlaces && cursor.moveTo(at, end); at = cursor.next) {
    if (cursor.tag === uri && cursor.end - cursor.start <= maxPlaceLength)
      places.push(bytes.toString('latin1', cursor.start, cursor.end));
  }
  return places;
}
