import { isUtf8 } from 'node:buffer';
import type { DerSpan } from './der-cursor';

/** An element whose content is a string. */
type TextSpan = Pick<DerSpan, 'tag' | 'start' | 'end'>;

const bmpString = 0x1e;
const universalString = 0x1c;

/**
 * UTF8, Printable, IA5, T61, Numeric, Graphic, Visible and GeneralString (X.680, section 8.4), by identifier
 * byte.
 */
const octetStrings: readonly number[] = [0x0c, 0x13, 0x16, 0x14, 0x12, 0x19, 0x1a, 0x1b];

/** Whether its string type has one byte, or UTF-8, per character. */
export function isOctetString(tag: number): boolean {
  return octetStrings.includes(tag);
}

/** The text of a DirectoryString; other types are read as if they were one. */
export function readText(bytes: Buffer, { tag, start, end }: TextSpan): string {
  if (tag === bmpString) return readUnits(bytes, start, end);
  if (tag === universalString) return readCodePoints(bytes, start, end);
  return readByteText(bytes, start, end);
}

export function isText(tag: number): boolean {
  return isOctetString(tag) || isWide(tag);
}

export function isWide(tag: number): boolean {
  return tag === bmpString || tag === universalString;
}

/**
 * Bytes of an unknown character set: CAs write UTF-8 and Latin-1 into any of the string types. Valid
 * UTF-8 is read as such; as Latin-1 it would consist of letters, each followed by a control
 * character, which is implausible.
 */
export function readByteText(bytes: Buffer, start: number, end: number): string {
  const isUtf8Text = !isAscii(bytes, start, end) && isUtf8(bytes.subarray(start, end));
  return bytes.toString(isUtf8Text ? 'utf8' : 'latin1', start, end);
}

/** Nearly all texts are short ASCII: creating a view of each takes longer than reading its bytes. */
function isAscii(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if ((bytes[at] ?? 0) >= 0x80) return false;
  return true;
}

/** UTF-16BE; an odd byte at the end is ignored. Lone surrogates are kept. */
function readUnits(bytes: Buffer, start: number, end: number): string {
  const units = Buffer.from(bytes.subarray(start, end - ((end - start) % 2)));
  return units.swap16().toString('utf16le');
}

/** UTF-32BE; invalid code points become U+FFFD. */
function readCodePoints(bytes: Buffer, start: number, end: number): string {
  const characters: string[] = [];
  for (let at = start; at + 4 <= end; at += 4) {
    const codePoint = bytes.readUInt32BE(at);
    characters.push(String.fromCodePoint(codePoint <= 0x10ffff ? codePoint : 0xfffd));
  }
  return characters.join('');
}

/** Replaces the omitted part of a long text; not a character of a name. */
const leftOut = '\ufffd';

/**
 * The same, but only the two ends of a long text: a name may precede a path, or follow anything.
 *
 * @param maxBytes of each end; a multiple of four, so that no character of two or four bytes is split
 */
export function readEnds(bytes: Buffer, { tag, start, end }: TextSpan, maxBytes: number): string {
  const skipped = end - start - 2 * maxBytes;
  if (skipped <= 0) return readText(bytes, { tag, start, end });
  const [cut, resumed] = [start + maxBytes, end - maxBytes - ((end - start) % 4)];
  const isBytes = !isWide(tag);
  const head = { tag, start, end: isBytes ? characterAt(bytes, cut, end) : cut };
  const tail = { tag, start: isBytes ? characterAt(bytes, resumed, end) : resumed, end };
  return `${readText(bytes, head)}${leftOut}${readText(bytes, tail)}`;
}

/** Start of the next UTF-8 character; one has four bytes at most. */
function characterAt(bytes: Buffer, at: number, end: number): number {
  let next = at;
  while (next < end && next < at + 3 && ((bytes[next] ?? 0) & 0xc0) === 0x80) next++;
  return next;
}
