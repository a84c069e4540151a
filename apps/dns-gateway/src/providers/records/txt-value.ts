/** RFC 1035, section 3.3: a character-string has a length of one byte. */
const maxStringLength = 255;

/** RFC 1035, section 5.1 writes a byte as `\DDD` in decimal; Route 53 uses octal. */
export type EscapeBase = 'decimal' | 'octal';

/** Pieces of at most 255 bytes each; the text is printable ASCII, so a character is one byte. */
export function txtStrings(text: string): readonly string[] {
  const count = Math.max(1, Math.ceil(text.length / maxStringLength));
  return Array.from({ length: count }, (_, at) =>
    text.slice(at * maxStringLength, (at + 1) * maxStringLength),
  );
}

/** In presentation format (RFC 1035, section 5.1): every string in quotes, `"` and `\` escaped. */
export const quotedTxt = (text: string, base: EscapeBase = 'decimal'): string =>
  txtStrings(text)
    .map((part) => quotedString(part, base))
    .join(' ');

/** One string in quotes of any length, for APIs that split it themselves. */
export const quotedString = (text: string, base: EscapeBase = 'decimal'): string =>
  `"${text.replace(/["\\]|[^\x20-\x7e]/g, (character) => escaped(character, base))}"`;

function escaped(character: string, base: EscapeBase): string {
  if (character === '"' || character === '\\') return `\\${character}`;
  const radix = base === 'decimal' ? 10 : 8;
  return [...Buffer.from(character, 'utf8')]
    .map((byte) => `\\${byte.toString(radix).padStart(3, '0')}`)
    .join('');
}

/**
 * The text of a value in presentation format: strings in quotes or bare, joined. Numeric escapes become characters
 * that represent bytes. Null when the value is not in this format.
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

/**
 * For APIs that return TXT in two forms: presentation format if it begins with a quote, otherwise the text itself.
 */
export const eitherTxt = (text: string): string => (text.startsWith('"') ? unquotedTxt(text) : null) ?? text;

const unescaped = (text: string, base: EscapeBase): string =>
  text.replace(/\\(\d{3}|[^])/g, (whole, what: string) => {
    if (what.length < 3) return what;
    const byte = parseInt(what, base === 'decimal' ? 10 : 8);
    return byte <= 255 ? String.fromCharCode(byte) : whole;
  });
