/** Offsets of an element in the input; nothing is copied. */
export interface DerSpan {
  /** The identifier byte: class, constructed bit and number. */
  readonly tag: number;
  /** Of the identifier byte. */
  readonly at: number;
  /** Of the content. */
  readonly start: number;
  readonly end: number;
  /** Where the next element begins: after `end`, and after the end-of-contents bytes if there are any. */
  readonly next: number;
}

/** X.690, section 8.1.3.6: the length is not told, end-of-contents bytes follow. */
const indefinite = -1;

/**
 * Stands on one element at a time, without an object per element. Reads what the Basic Encoding Rules allow
 * and more: an element that ends after what is around it is taken to end there. Moving on costs constant
 * time, or the bytes skipped when the length is indefinite.
 */
export class DerCursor implements DerSpan {
  tag = 0;
  at = 0;
  start = 0;
  end = 0;
  next = 0;
  /** Whether any element so far had a length that is not in DER's form. */
  sawBerLength = false;
  /** Whether any element so far ended after what is around it. */
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
   * Reads identifier and length; tells the length and sets `tag` and `start`. One that is cut off is longer
   * than what is left.
   */
  private readHead(position: number, limit: number): number {
    const bytes = this.bytes;
    const tag = bytes[position] ?? 0;
    let at = position + 1;
    // Tag numbers from 31 take more bytes. No structure here has one: it only is to be stepped over.
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
    // Beyond 2^53 it is inexact, and far beyond any limit.
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
   * Steps over elements until the end-of-contents bytes that belong to this one; others may be nested in it.
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
