/** Offsets of an element in the input, without copies. */
export interface DerSpan {
  /** The identifier byte: class, constructed bit and number. */
  readonly tag: number;
  /** Of the identifier byte. */
  readonly at: number;
  /** Of the content. */
  readonly start: number;
  readonly end: number;
  /** Offset of the next element: after `end`, and after end-of-contents bytes, if any. */
  readonly next: number;
}

/** X.690, section 8.1.3.6: indefinite length, end-of-contents bytes follow. */
const indefinite = -1;

/**
 * Points to one element at a time, without an object per element. Accepts what the Basic Encoding Rules allow
 * and more: an element that exceeds its parent is truncated at the parent's end. Moving on takes constant
 * time, or the bytes skipped when the length is indefinite.
 */
export class DerCursor implements DerSpan {
  tag = 0;
  at = 0;
  start = 0;
  end = 0;
  next = 0;
  /** Whether any element so far had a length that is invalid in DER. */
  sawBerLength = false;
  /** Whether any element so far exceeded its parent. */
  sawCutOff = false;

  constructor(readonly bytes: Buffer) {}

  /** Moves to the element at `position`; false when there is none before `limit`. */
  moveTo(position: number, limit: number): boolean {
    if (position >= limit) return false;
    this.at = position;
    const length = this.readHead(position, limit);
    if (length === indefinite) return this.findEnd(limit);
    if (length > limit - this.start) return this.cutOff(limit);
    this.end = this.next = this.start + length;
    return true;
  }

  span(): DerSpan {
    return { tag: this.tag, at: this.at, start: this.start, end: this.end, next: this.next };
  }

  /**
   * Reads identifier and length; returns the length and sets `tag` and `start`. A truncated one is longer
   * than what is left.
   */
  private readHead(position: number, limit: number): number {
    const bytes = this.bytes;
    const tag = bytes[position] ?? 0;
    let at = position + 1;
    // Tag numbers from 31 take more bytes. No structure here uses one: they are only skipped.
    if ((tag & 0x1f) === 0x1f) while (at < limit && ((bytes[at++] ?? 0) & 0x80) !== 0);
    this.tag = tag;
    this.start = at + 1;
    if (at >= limit) return this.headCutOff(limit);
    const first = bytes[at] ?? 0;
    return first < 0x80 ? first : this.readLongLength(at, first, limit);
  }

  private readLongLength(at: number, first: number, limit: number): number {
    const lengthBytes = first & 0x7f;
    if (lengthBytes === 0) {
      this.sawBerLength = true;
      return indefinite;
    }
    const bytes = this.bytes;
    const start = at + 1 + lengthBytes;
    if (start > limit) return this.headCutOff(limit);
    let length = 0;
    // Beyond 2^53 it is inexact, but far beyond any limit anyway.
    for (let i = at + 1; i < start; i++) length = length * 256 + (bytes[i] ?? 0);
    if (length < 0x80 || bytes[at + 1] === 0) this.sawBerLength = true;
    this.start = start;
    return length;
  }

  private headCutOff(limit: number): number {
    this.start = limit;
    return Infinity;
  }

  private cutOff(limit: number): true {
    this.sawCutOff = true;
    this.end = this.next = limit;
    return true;
  }

  /**
   * Skips elements until the end-of-contents bytes of this one; others may be nested in it.
   */
  private findEnd(limit: number): true {
    const { bytes, tag, start } = this;
    let open = 1;
    let position = start;
    let end = -1;
    while (position < limit && open > 0) {
      if (bytes[position] === 0 && bytes[position + 1] === 0 && position + 1 < limit) {
        open--;
        end = position;
        position += 2;
        continue;
      }
      const length = this.readHead(position, limit);
      position = this.start;
      if (length === indefinite) open++;
      else position += length;
    }
    this.tag = tag;
    this.start = start;
    if (open > 0) return this.cutOff(limit);
    this.end = end;
    this.next = position;
    return true;
  }
}
