/** RFC 1035, section 2.3.4: bytes of a name as text without its last dot, and of a label. */
const maxNameLength = 253;
const maxLabelLength = 63;

/**
 * Characters of a label: LDH and the underscore of service names, in lower case, and the asterisk of
 * wildcards.
 */
const [other, dot, digit, labelCharacter] = [0, 1, 2, 3];
const kinds = new Uint8Array(256);
kinds.fill(labelCharacter, 0x61, 0x7b);
for (const character of '-_*') kinds[character.charCodeAt(0)] = labelCharacter;
kinds.fill(digit, 0x30, 0x3a);
kinds[0x2e] = dot;

/**
 * Whether these bytes are a name in normal form, as nearly all are: then no normalization
 * is needed.
 */
export function isPlainName(bytes: Uint8Array, start: number, end: number): boolean {
  const length = end - start;
  if (length === 0 || length > maxNameLength) return false;
  let labelStart = start;
  let allDigits = true;
  for (let i = start; i < end; i++) {
    const kind = kinds[bytes[i] ?? 0];
    if (kind === other) return false;
    if (kind === labelCharacter) allDigits = false;
    else if (kind === dot) {
      if (i === labelStart || i - labelStart > maxLabelLength) return false;
      labelStart = i + 1;
      allDigits = true;
    }
  }
  return !allDigits && end > labelStart && end - labelStart <= maxLabelLength;
}

/**
 * The same for a string. A numeric last label is invalid or makes an address (URL Standard, "ends in a number"): no
 * top-level domain is one.
 */
export function isName(text: string): boolean {
  if (text.length > maxNameLength || !/^[a-z0-9_*.-]+$/.test(text)) return false;
  const labels = text.split('.');
  if (/^[0-9]+$/.test(labels.at(-1) ?? '')) return false;
  return labels.every((label) => label !== '' && label.length <= maxLabelLength);
}

/**
 * Cleans up a text that a CA used as a name: lower case, without white space, control characters and dots at its ends,
 * and without `http://` or `https://` before it.
 */
export interface NameText {
  readonly whole: string;
  /** Up to the first slash, without a port. */
  readonly authority: string;
  /** The same; with a scheme, also without a query. */
  readonly host: string;
}

export function readNameText(text: string): NameText {
  const lower = withoutOuter(text, isBlank).toLowerCase();
  const rest = lower.startsWith('http') ? lower.replace(/^https?:\/\//, '') : lower;
  const whole = withoutOuter(rest, isDot);
  const authority = authorityOf(rest, rest.indexOf('/'));
  return { whole, authority, host: rest === lower ? authority : authorityOf(rest, rest.search(/[/?#]/)) };
}

/** @param end its end; -1: there is none */
function authorityOf(text: string, end: number): string {
  const authority = withoutOuter(end < 0 ? text : text.slice(0, end), isBlank);
  return withoutOuter(authority.includes(':') ? authority.replace(/:[0-9]{1,5}$/, '') : authority, isDot);
}

/** A name that is followed by a query or a fragment. */
export function beforeQuery(text: string): string | undefined {
  const [name = ''] = text.split(/[?#]/, 1);
  return name.includes('.') && isName(name) ? name : undefined;
}

export function withoutControls(text: string): string {
  return text.replace(/[\0-\x1f\x7f-\x9f]/g, '');
}

const isDot = (unit: number) => unit === 0x2e;

/** White space and control characters; those of ASCII and Latin-1 without a regular expression, which is slow. */
function isBlank(unit: number): boolean {
  return (
    unit <= 0x20 || (unit >= 0x7f && (unit <= 0xa0 || (unit > 0xff && /\s/.test(String.fromCharCode(unit)))))
  );
}

/** Not a regular expression: `\.+$` takes quadratic time on dots that are not at the end. */
function withoutOuter(text: string, isOuter: (unit: number) => boolean): string {
  let start = 0;
  let end = text.length;
  while (start < end && isOuter(text.charCodeAt(start))) start++;
  while (end > start && isOuter(text.charCodeAt(end - 1))) end--;
  return start === 0 && end === text.length ? text : text.slice(start, end);
}

/**
 * The A-labels of a name with U-labels (UTS #46, non-transitional, as browsers map them); undefined when it is
 * invalid. The URL parser is the platform's UTS #46; the ASCII characters are checked first, so that no other
 * URL syntax is in the text. A code point takes two UTF-16 units at most, and one byte of the A-label at
 * least.
 */
export function asciiName(text: string): string | undefined {
  if (text.length > 2 * maxNameLength || !/^[a-z0-9_*.\u0080-\u{10ffff}-]+$/u.test(text)) return undefined;
  if (!URL.canParse(`http://${text}/`)) return undefined;
  const name = withoutOuter(new URL(`http://${text}/`).hostname, isDot);
  return isName(name) ? name : undefined;
}
