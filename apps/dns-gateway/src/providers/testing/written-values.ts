import { normalName } from '../records/names';
import { type EscapeBase, unquotedTxt } from '../records/txt-value';

/** How imitations write values in presentation format, and read what they are sent: not by the code that is tested. */

/** Strings in quotes and nothing else: what APIs document for TXT that do not take bare text. */
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
