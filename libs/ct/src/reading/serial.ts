import type { DerSpan } from './der-cursor';
import type { Faults } from './faults';

/**
 * RFC 5280, section 4.1.2.2, allows 20 octets; some have more. What is longer than this identifies nothing.
 */
const longestSerial = 64;

/**
 * Lower-case hexadecimal digits of whole octets without leading zero octets; a negative one starts with `-`.
 * Null when there is none.
 */
export function readSerial(bytes: Buffer, span: DerSpan, faults: Faults): string | null {
  let { start } = span;
  const { end } = span;
  if (end === start || end - start > longestSerial) {
    faults.add('serial');
    return null;
  }
  if (((bytes[start] ?? 0) & 0x80) !== 0) {
    faults.add('negative_serial');
    return negative(bytes.toString('hex', start, end));
  }
  while (start < end - 1 && bytes[start] === 0) start++;
  return bytes.toString('hex', start, end);
}

/** Two's complement. */
function negative(hex: string): string {
  const magnitude = ((1n << BigInt(hex.length * 4)) - BigInt(`0x${hex}`)).toString(16);
  return `-${magnitude.padStart(magnitude.length + (magnitude.length % 2), '0')}`;
}
