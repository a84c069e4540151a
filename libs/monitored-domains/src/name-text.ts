/** RFC 1035, section 2.3.4: bytes of a label, and of a name as text without its last dot. */
const maxLabelLength = 63;
const maxNameLength = 253;

/** What a character is: no label can contain `other`. Underscores occur in labels, asterisks in those of wildcards. */
const [other, labelCharacter, fullStop, asterisk, upperCase] = [0, 1, 2, 3, 4];
const kinds = new Uint8Array(128);
kinds.fill(labelCharacter, 0x61, 0x7b);
kinds.fill(labelCharacter, 0x30, 0x3a);
kinds.fill(upperCase, 0x41, 0x5b);
for (const character of '-_') kinds[character.charCodeAt(0)] = labelCharacter;
kinds['.'.charCodeAt(0)] = fullStop;
kinds['*'.charCodeAt(0)] = asterisk;

function kindOf(unit: number): number {
  return unit < 128 ? (kinds[unit] ?? other) : other;
}

export interface NameShape {
  /** The text is not a DNS name, even if asterisks are accepted in labels. */
  readonly isOdd: boolean;
  readonly hasAsterisk: boolean;
  readonly hasUpperCase: boolean;
}

const plain: NameShape = { isOdd: false, hasAsterisk: false, hasUpperCase: false };

export function shapeOf(text: string): NameShape {
  let labelStart = 0;
  let isOdd = text.length === 0 || text.length > maxNameLength;
  let hasAsterisk = false;
  let hasUpperCase = false;
  for (let at = 0; at < text.length; at += 1) {
    const kind = kindOf(text.charCodeAt(at));
    if (kind === labelCharacter) continue;
    if (kind === fullStop) {
      if (!isLabelLength(at - labelStart)) isOdd = true;
      labelStart = at + 1;
    } else if (kind === asterisk) hasAsterisk = true;
    else if (kind === upperCase) hasUpperCase = true;
    else isOdd = true;
  }
  if (!isLabelLength(text.length - labelStart)) isOdd = true;
  return isOdd || hasAsterisk || hasUpperCase ? { isOdd, hasAsterisk, hasUpperCase } : plain;
}

function isLabelLength(length: number): boolean {
  return length > 0 && length <= maxLabelLength;
}

/** Only ASCII: lower case of other letters can be an ASCII letter, and would make a name of what is none. */
export function asciiLowerCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/**
 * Calls `take` with start and end of each run of two or more labels. A run ends at a character that no label can contain, at
 * an empty label, and at a label that is too long. Takes time linear in the length.
 *
 * @param text in lower case
 */
export function forEachRun(text: string, take: (start: number, end: number) => void): void {
  let [labels, runStart, runEnd, labelStart] = [0, 0, 0, 0];
  for (let at = 0; at <= text.length; at += 1) {
    const kind = at < text.length ? kindOf(text.charCodeAt(at)) : other;
    if (kind === labelCharacter || kind === asterisk) continue;
    const isLabel = isLabelLength(at - labelStart);
    if (isLabel) {
      if (labels === 0) runStart = labelStart;
      labels += 1;
      runEnd = at;
    }
    if (!isLabel || kind !== fullStop) {
      if (labels >= 2) take(runStart, runEnd);
      labels = 0;
    }
    labelStart = at + 1;
  }
}
