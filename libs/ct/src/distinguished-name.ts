import { attributeTypeNames } from './attribute-types';
import { asBuffer } from './bytes';
import { DerCursor } from './reading/der-cursor';
import { readObjectIdentifier } from './reading/object-identifier';
import { isText, readText } from './reading/text';

/** Type and value of one attribute. */
export interface NameAttribute {
  /** Dotted decimal. */
  readonly type: string;
  /** Null: not a string. */
  readonly text: string | null;
  /** The whole value, including its identifier byte and length. */
  readonly der: Buffer;
}

/** The attributes of one RDN; nearly always a single one. */
export type RelativeName = readonly NameAttribute[];

const [sequence, set] = [0x30, 0x31];

/** Max characters of a formatted name: names in use have less than a tenth, and one log entry may have 16 MB. */
const maxNameLength = 4_096;

/** Max bytes that are written in hexadecimal. */
const maxDumpLength = 1_024;

/** In the order of the certificate, from the root down; null when the DER is not a Name. */
export function readDistinguishedName(der: Uint8Array): readonly RelativeName[] | null {
  const cursor = new DerCursor(asBuffer(der));
  if (!cursor.moveTo(0, der.length) || cursor.tag !== sequence || cursor.next < der.length) return null;
  const { start, end } = cursor;
  const levels: RelativeName[] = [];
  for (let at = start; cursor.moveTo(at, end);) {
    at = cursor.next;
    const attributes = cursor.tag === set ? readAttributes(cursor) : null;
    if (attributes === null) return null;
    levels.push(attributes);
  }
  return cursor.sawCutOff ? null : levels;
}

function readAttributes(cursor: DerCursor): NameAttribute[] | null {
  const { start, end } = cursor;
  const attributes: NameAttribute[] = [];
  for (let at = start; cursor.moveTo(at, end);) {
    at = cursor.next;
    const attribute = cursor.tag === sequence ? readAttribute(cursor) : null;
    if (attribute === null) return null;
    attributes.push(attribute);
  }
  return attributes.length === 0 ? null : attributes;
}

function readAttribute(cursor: DerCursor): NameAttribute | null {
  const { start, end, bytes } = cursor;
  const type = cursor.moveTo(start, end) ? readObjectIdentifier(cursor) : null;
  if (type === null || !cursor.moveTo(cursor.next, end) || cursor.next < end) return null;
  const der = bytes.subarray(cursor.at, cursor.next);
  return { type, text: isText(cursor.tag) ? readText(bytes, cursor).toWellFormed() : null, der };
}

/** The most specific non-empty string attribute of a type; null: there is none. @param type dotted decimal */
export function attributeText(levels: readonly RelativeName[], type: string): string | null {
  const texts = levels.flat().flatMap((each) => (each.type === type && each.text ? [each.text] : []));
  return texts.at(-1)?.slice(0, maxNameLength).toWellFormed() ?? null;
}

/**
 * Formats a DER Name by RFC 2253 and its successor RFC 4514, the most specific level first. Non-ASCII characters are not
 * escaped as UTF-8 bytes. For a type without a usual short name, and a value that is not a string, the DER is shown. An invalid
 * Name becomes `#` and hexadecimal digits as a whole. Never throws.
 */
export function formatDistinguishedName(der: Uint8Array): string {
  const levels = readDistinguishedName(der);
  if (levels === null) return dump(asBuffer(der));
  const name = levels.map(formatLevel).reverse().join(',');
  return name.length <= maxNameLength ? name : `${name.slice(0, maxNameLength).toWellFormed()}…`;
}

function formatLevel(attributes: RelativeName): string {
  // A SET has no order; most tools show the reverse of the encoded order.
  return attributes.map(formatAttribute).reverse().join('+');
}

function formatAttribute({ type, text, der }: NameAttribute): string {
  const short = attributeTypeNames.get(type);
  return short === undefined || text === null
    ? `${short ?? type}=${dump(der)}`
    : `${short}=${escape(text.slice(0, maxNameLength).toWellFormed())}`;
}

/** RFC 4514, section 2.4: characters that are special anywhere, at the start or at the end; and invisible ones. */
function escape(text: string): string {
  const last = text.length > 1 && text.endsWith(' ') ? '\\ ' : '';
  const rest = last === '' ? text : text.slice(0, -1);
  const escaped = rest.replace(/[,+"\\<>;]/g, '\\$&').replace(/\p{Cc}/gu, hexBytes);
  return `${/^[ #]/.test(rest) ? '\\' : ''}${escaped}${last}`;
}

function hexBytes(character: string): string {
  return [...Buffer.from(character)].map((byte) => `\\${hexOf(byte)}`).join('');
}

function hexOf(byte: number): string {
  return byte.toString(16).toUpperCase().padStart(2, '0');
}

function dump(der: Buffer): string {
  const cut = der.length > maxDumpLength ? '…' : '';
  return `#${der.toString('hex', 0, maxDumpLength).toUpperCase()}${cut}`;
}

/** Max bytes of a name to compare. Names of CAs have about a hundred; this runs before signatures are verified. */
const maxComparedBytes = 8 * 1_024;

/**
 * Whether two DER Names are equal: attribute by attribute, strings without regard to the string type, case and
 * spaces (RFC 5280, section 7.1). Some CAs use different string types in their lists and in their certificates.
 */
export function sameName(one: Buffer, other: Buffer): boolean {
  if (one.equals(other)) return true;
  if (one.length > maxComparedBytes || other.length > maxComparedBytes) return false;
  const [levels, others] = [readDistinguishedName(one), readDistinguishedName(other)];
  if (levels === null || others === null || levels.length !== others.length) return false;
  return levels.every((attributes, level) => {
    const [mine, theirs] = [attributes.map(comparable).sort(), (others[level] ?? []).map(comparable).sort()];
    return mine.length === theirs.length && mine.every((each, at) => each === theirs[at]);
  });
}

function comparable({ type, text, der }: NameAttribute): string {
  const value = text === null ? der.toString('hex') : text.trim().replace(/\s+/g, ' ').toLowerCase();
  return JSON.stringify([type, text === null, value]);
}
