import { normalName } from '../records/names';
import { type EscapeBase, unquotedTxt } from '../records/txt-value';

/** How fakes write and read values in presentation format: independent of the tested code. */

/** Strings in quotes only: the documented TXT format of APIs that refuse bare text. */
export const inQuotes = /^"(?:[^"\\]|\\.)*"(?: "(?:[^"\\]|\\.)*")*$/;

export function writtenValue(type: string, value: string): string {
  if (type === 'TXT') {
    const strings = value.match(/.{1,255}/gs) ?? [''];
    return strings.map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`).join(' ');
  }
  return type === 'CAA' ? value : `${value}.`;
}

export function plainValue(type: string, written: string, base: EscapeBase = 'decimal'): string {
  if (type === 'TXT') return unquotedTxt(written, base) ?? 'malformed';
  return type === 'CAA' ? written : normalName(written);
}
