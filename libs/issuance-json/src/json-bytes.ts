import { dateOf, dayMs, withinYears } from './timestamp';

export const sha256Bytes = 32;

/** The two hexadecimal digits of each byte. */
const hexDigits = Buffer.from(Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)).toString('hex'));

const [zero, colon, letterT, letterZ] = [0x30, 0x3a, 0x54, 0x5a];

/**
 * A JSON text in UTF-8. Most of a page is digests and times: as strings, they would leave three times as much to the garbage
 * collector as is sent, and a call of Node for each part takes longer than the loops here.
 */
export class JsonBytes {
  private bytes: Buffer;
  private at = 0;

  /** @param expected its bytes, about */
  constructor(expected: number) {
    this.bytes = Buffer.allocUnsafe(expected);
  }

  get length(): number {
    return this.at;
  }

  written(): Buffer {
    return this.bytes.subarray(0, this.at);
  }

  text(text: string): void {
    const length = Buffer.byteLength(text);
    this.reserve(length);
    this.at += this.bytes.write(text, this.at);
  }

  /** @param text short, of ASCII characters */
  ascii(text: string): void {
    this.reserve(text.length);
    const { bytes, at } = this;
    for (let nth = 0; nth < text.length; nth += 1) bytes[at + nth] = text.charCodeAt(nth);
    this.at = at + text.length;
  }

  /** A digest in hexadecimal, in lower case. @param begin of its bytes */
  sha256(from: Uint8Array, begin: number): void {
    this.reserve(2 * sha256Bytes);
    const { bytes, at } = this;
    for (let nth = 0; nth < sha256Bytes; nth += 1) {
      const digits = 2 * (from[begin + nth] ?? 0);
      bytes[at + 2 * nth] = hexDigits[digits] ?? 0;
      bytes[at + 2 * nth + 1] = hexDigits[digits + 1] ?? 0;
    }
    this.at = at + 2 * sha256Bytes;
  }

  /** As `timestamp` says. @param ms since 1970 */
  timestamp(ms: number): void {
    const shown = withinYears(ms);
    const day = Math.floor(shown / dayMs);
    const second = Math.floor((shown - day * dayMs) / 1_000);
    this.ascii(dateOf(day));
    this.reserve('T00:00:00Z'.length);
    this.bytes[this.at++] = letterT;
    this.pair(Math.floor(second / 3_600));
    this.bytes[this.at++] = colon;
    this.pair(Math.floor(second / 60) % 60);
    this.bytes[this.at++] = colon;
    this.pair(second % 60);
    this.bytes[this.at++] = letterZ;
  }

  private pair(number: number): void {
    const tens = Math.floor(number / 10);
    this.bytes[this.at++] = zero + tens;
    this.bytes[this.at++] = zero + number - 10 * tens;
  }

  private reserve(more: number): void {
    if (this.at + more <= this.bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.at + more, 2 * this.bytes.length));
    this.bytes.copy(larger, 0, 0, this.at);
    this.bytes = larger;
  }
}
