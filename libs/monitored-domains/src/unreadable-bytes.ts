import { asciiLowerCase, forEachRun } from './name-text';

const [zero, one, fullStop] = [0x30, 0x31, 0x2e];

/**
 * Calls `take` for each run of two or more labels in the bytes of an entry that could not be read as a certificate, whatever
 * its structure is. Takes time linear in the length.
 *
 * DER has no separators between texts: the byte before a text is its length, and may be a character of a label, and so may the
 * tag of the next value after it. So a run is also taken without them.
 */
export function forEachRunInBytes(
  bytes: Uint8Array,
  take: (text: string, start: number, end: number) => void,
): void {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  takeRuns(text, take);
  // BMPString and UniversalString have NULs between the characters.
  if (text.includes('\0')) takeRuns(text.replaceAll('\0', ''), take);
}

function takeRuns(raw: string, take: (text: string, start: number, end: number) => void): void {
  const text = asciiLowerCase(raw);
  forEachRun(text, (start, end) => {
    const innerStart = isLengthOf(raw.charCodeAt(start), end - start - 1) ? start + 1 : start;
    const innerEnd = isTag(text.charCodeAt(end - 1)) ? end - 1 : end;
    for (const first of new Set([start, innerStart])) {
      for (const last of new Set([end, innerEnd])) {
        // A label of one character is no longer one without it.
        if (text.charCodeAt(first) !== fullStop && text.charCodeAt(last - 1) !== fullStop)
          take(text, first, last);
      }
    }
  });
}

/** Whether the byte may be the length of a value that ends with the run: a length of characters of 1, 2 or 4 bytes. */
function isLengthOf(byte: number, characters: number): boolean {
  return [1, 2, 4].some((width) => [0, 1].some((tag) => byte === width * (characters - tag)));
}

/** A SEQUENCE or SET after a text, as after the last common name and after the alternative names. */
function isTag(character: number): boolean {
  return character === zero || character === one;
}
