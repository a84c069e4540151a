/** RFC 1035, section 3.3: a character-string has one octet of length. */
const longestString = 255;

/** RFC 1035, section 5.1 writes an octet as `\DDD` in decimal; Route 53 does in octal. */
export type EscapeBase = 'decimal' | 'octal';

/** Pieces of at most 255 octets each; the text is printable ASCII, so that characters are octets. */
export function txtStrings(text: string): readonly string[] {
  const count = Math.max(1, Math.ceil(text.length / longestString));
  return Array.from({ length: count }, (_, at) => text.slice(at * longestString, (at + 1) * longestString));
}

/** In presentation format (RFC 1035, section 5.1): every string in quotes, `"` and `\` escaped. */
export const quotedTxt = (text: string, base: EscapeBase = 'decimal'): string =>
  txtStrings(text)
    .map((part) => quotedString(part, base))
    .join(' ');

/** One string in quotes however long it is, for APIs that split it themselves. */
export const quotedString = (text: string, base: EscapeBase = 'decimal'): string =>
  `"${text.replace(/["\\]|[^\x20-\x7e]/g, (character) => escaped(character, base))}"`;

function escaped(character: string, base: EscapeBase): string {
  if (character === '"' || character === '\\') return `\\${character}`;
  const radix = base === 'decimal' ? 10 : 8;
  return [...Buffer.from(character, 'utf8')]
    .map((octet) => `\\${octet.toString(radix).padStart(3, '0')}`)
    .join('');
}

/**
 * The text of a value in presentation format: strings in quotes or bare, joined. Characters stand for octets where they
 * were escaped by number. Null when it is not in that format.
 */
export function unquotedTxt(presentation: string, base: EscapeBase = 'decimal'): string | null {
  const token = /\s*(?:"((?:[^"\\]|\\[^])*)"|((?:[^\s"\\]|\\[^])+))\s*/gy;
  let text = '';
  while (token.lastIndex < presentation.length) {
    const match = token.exec(presentation);
    if (match === null) return null;
    text += unescaped(match[1] ?? match[2] ?? '', base);
  }
  return text;
}

/** For APIs that show TXT both ways: what begins with a quote is in presentation format, anything else is the text itself. */
export const eitherTxt = (text: string, base: EscapeBase = 'decimal'): string =>
  (text.startsWith('"') ? unquotedTxt(text, base) : null) ?? text;

const unescaped = (text: string, base: EscapeBase): string =>
  text.replace(/\\(\d{3}|[^])/g, (whole, what: string) => {
    if (what.length < 3) return what;
    const octet = parseInt(what, base === 'decimal' ? 10 : 8);
    return octet <= 255 ? String.fromCharCode(octet) : whole;
  });
