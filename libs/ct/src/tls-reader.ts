import { asBuffer } from './bytes';

/**
 * Reads the presentation language of TLS (RFC 8446, section 3) sequentially. Missing bytes
 * read as zero or empty and set `failed`, so that a structure is read in one go and checked at its end.
 */
export class TlsReader {
  readonly bytes: Buffer;
  /** The next byte. */
  at = 0;
  failed = false;

  constructor(bytes: Uint8Array) {
    this.bytes = asBuffer(bytes);
  }

  get isAtEnd(): boolean {
    return this.at === this.bytes.length;
  }

  /** An unsigned integer of one to six bytes. */
  uint(size: number): number {
    if (!this.has(size)) return 0;
    let value = 0;
    for (const end = this.at + size; this.at < end; this.at++)
      value = value * 256 + (this.bytes[this.at] ?? 0);
    return value;
  }

  /** uint64. Fails above 2^53, which no counter or clock reaches. */
  uint64(): number {
    const high = this.uint(4);
    if (high >= 0x20_0000) this.failed = true;
    return this.failed ? 0 : high * 0x1_0000_0000 + this.uint(4);
  }

  opaque(length: number): Buffer {
    if (!this.has(length)) return this.bytes.subarray(0, 0);
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  /** A vector preceded by its length in `size` bytes. */
  vector(size: number, minimum = 0): Buffer {
    const length = this.uint(size);
    if (length < minimum) this.failed = true;
    return this.opaque(this.failed ? 0 : length);
  }

  /** End of the vector whose length, in `size` bytes, is next; moves to its beginning. */
  vectorEnd(size: number): number {
    const length = this.uint(size);
    return this.has(length) ? this.at + length : this.at;
  }

  private has(size: number): boolean {
    if (size > this.bytes.length - this.at) this.failed = true;
    return !this.failed;
  }
}
