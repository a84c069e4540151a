/** Only A to Z: `toLowerCase` would make the letter k of U+212A, and so another name of a look-alike. */
export function lowerCaseAscii(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
