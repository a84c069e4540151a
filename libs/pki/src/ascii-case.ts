/** Only A to Z: `toLowerCase` would turn U+212A into the letter k, so a look-alike would become another name. */
export function lowerCaseAscii(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
