import { asBuffer } from '../bytes';
import { readCrlUrl } from './crl-url';
import { DerCursor, type DerSpan } from './der-cursor';
import { type ExtensionList, listExtensions, noExtensions } from './extension-list';
import { Faults, hidingFaults, type ReadingFault } from './faults';
import { NameSet } from './name-set';
import { addAlternativeNames, addCommonNames } from './names';
import { findTbs, layOut, type TbsLayout, wholeTbs } from './tbs-layout';
import { readTime } from './time';

/**
 * A Certificate; a Certificate with the poison extension; the TBSCertificate of a precertificate, as in a log's
 * leaf.
 */
export type IssuedKind = 'certificate' | 'precertificate' | 'tbs';

/**
 * Contents of a certificate or precertificate, as far as they are readable. Buffers are views of the
 * input, not copies.
 */
export interface Issued {
  /** Lower-case hexadecimal of whole bytes; a negative one starts with `-`. */
  readonly serial: string | null;
  /** DER of the whole Name. */
  readonly issuerDer: Buffer | null;
  readonly subjectDer: Buffer | null;
  /** Milliseconds since the epoch, negative before. */
  readonly notBefore: number | null;
  readonly notAfter: number | null;
  /** DER of the whole SubjectPublicKeyInfo. */
  readonly spkiDer: Buffer | null;
  /**
   * DNS names of the SubjectAltName, then of the common names, without duplicates: lower-case A-labels, wildcards
   * unchanged; and odd names below a domain (`oddName`), printable ASCII. Excludes texts that cannot be DNS names.
   */
  readonly dnsNames: readonly string[];
  /**
   * Texts in place of names, in lower case and without NUL, that may contain names which `dnsNames` lacks; none in nearly all
   * certificates. If its structure is broken, all runs of labels in the whole certificate.
   */
  readonly oddNames: readonly string[];
  /** DNS names and common names that are not domain names: addresses, people. */
  readonly droppedNames: number;
  /** The key identifier, lower-case hexadecimal. */
  readonly authorityKeyId: string | null;
  /** The first http or https URL in the CRL distribution points whose list covers all reasons. */
  readonly crlUrl: string | null;
  readonly hasPoison: boolean;
  readonly hasSctList: boolean;
  readonly faults: readonly ReadingFault[];
  /** For `transparencyTbs`. */
  readonly bytes: Buffer;
  readonly layout: TbsLayout | null;
  readonly extensions: ExtensionList;
}

/**
 * Reads the certificate data that a monitor needs. Logs contain anything that CAs ever signed, so it never
 * throws: unreadable data is null, with a reason in `faults`. Takes time proportional to the number of bytes, whatever
 * they are.
 */
export function readIssued(der: Uint8Array, kind: IssuedKind): Issued {
  const bytes = asBuffer(der);
  const faults = new Faults();
  const cursor = new DerCursor(bytes);
  const tbs = kind === 'tbs' ? wholeTbs(cursor, faults) : findTbs(cursor, faults);
  if (tbs === null) faults.add('no_tbs');
  const layout = tbs === null ? null : layOut(cursor, tbs, faults);
  const wrapper = layout?.extensions ?? null;
  const extensions = wrapper === null ? noExtensions : listExtensions(cursor, wrapper, faults);
  const names = readNames(cursor, layout, extensions, faults);
  const [notBefore, notAfter] = readValidity(cursor, layout, faults);
  const serial = layout?.serial ? readSerial(bytes, layout.serial, faults) : null;
  const authorityKeyId = readKeyId(cursor, extensions);
  const crlUrl = readCrlUrl(cursor, extensions.crlDistributionPoints);
  if (extensions.hasPoison !== (kind === 'precertificate')) faults.add('poison');
  if (cursor.sawBerLength) faults.add('ber_length');
  if (cursor.sawCutOff) faults.add('cut_off');
  if (faults.list().some((fault) => hidingFaults.includes(fault))) names.odd.addBytes(bytes, names.names);
  return {
    serial,
    issuerDer: slice(bytes, layout?.issuer),
    subjectDer: slice(bytes, layout?.subject),
    notBefore,
    notAfter,
    spkiDer: slice(bytes, layout?.spki),
    dnsNames: names.names,
    oddNames: names.odd.list,
    droppedNames: names.dropped,
    authorityKeyId,
    crlUrl,
    hasPoison: extensions.hasPoison,
    hasSctList: extensions.hasSctList,
    faults: faults.list(),
    bytes,
    layout,
    extensions,
  };
}

function readNames(cursor: DerCursor, layout: TbsLayout | null, extensions: ExtensionList, faults: Faults) {
  const names = new NameSet();
  for (const value of extensions.subjectAlternativeName) addAlternativeNames(cursor, value, names, faults);
  if (layout?.subject) addCommonNames(cursor, layout.subject, names, faults);
  if (names.dropped > 0) faults.add('dropped_name');
  return names;
}

function readValidity(
  cursor: DerCursor,
  layout: TbsLayout | null,
  faults: Faults,
): [number | null, number | null] {
  const validity = layout?.validity;
  if (!validity) return [null, null];
  const notBefore = readTimeAt(cursor, validity.start, validity.end, faults);
  if (notBefore === null) faults.add('not_before');
  const second = cursor.moveTo(validity.start, validity.end) ? cursor.next : validity.end;
  const notAfter = readTimeAt(cursor, second, validity.end, faults);
  if (notAfter === null) faults.add('not_after');
  return [notBefore, notAfter];
}

function readTimeAt(cursor: DerCursor, at: number, end: number, faults: Faults): number | null {
  const time = cursor.moveTo(at, end) ? readTime(cursor.bytes, cursor) : null;
  if (time !== null && !time.asPrescribed) faults.add('time_form');
  return time === null ? null : time.ms;
}

/** keyIdentifier, IMPLICIT [0] (RFC 5280, section 4.2.1.1). Null if it is longer than any digest. */
function readKeyId(cursor: DerCursor, extensions: ExtensionList): string | null {
  const [value] = extensions.authorityKeyIdentifier;
  if (value === undefined || !cursor.moveTo(value.start, value.end) || cursor.tag !== 0x80) return null;
  const { bytes, start, end } = cursor;
  return end > start && end - start <= 64 ? bytes.toString('hex', start, end) : null;
}

function slice(bytes: Buffer, span: DerSpan | null | undefined): Buffer | null {
  return span ? bytes.subarray(span.at, span.next) : null;
}

/**
 * RFC 5280, section 4.1.2.2, allows 20 bytes; some have more. A longer one than this identifies nothing.
 */
const maxSerialLength = 64;

/**
 * Lower-case hexadecimal digits of whole bytes without leading zero bytes; a negative one starts with `-`.
 * Null when it is absent.
 */
function readSerial(bytes: Buffer, span: DerSpan, faults: Faults): string | null {
  let { start } = span;
  const { end } = span;
  if (end === start || end - start > maxSerialLength) {
    faults.add('serial');
    return null;
  }
  if (((bytes[start] ?? 0) & 0x80) !== 0) {
    faults.add('negative_serial');
    return negative(bytes.toString('hex', start, end));
  }
  while (start < end - 1 && bytes[start] === 0) start++;
  return bytes.toString('hex', start, end);
}

/** Two's complement. */
function negative(hex: string): string {
  const magnitude = ((1n << BigInt(hex.length * 4)) - BigInt(`0x${hex}`)).toString(16);
  return `-${magnitude.padStart(magnitude.length + (magnitude.length % 2), '0')}`;
}
