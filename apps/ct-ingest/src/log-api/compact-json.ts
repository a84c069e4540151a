import type { TextSpan } from '@certwright/ct';

const quote = '"'.charCodeAt(0);

/**
 * Reads JSON of one fixed layout without building a string of all of it: that would take megabytes, and the parser as many
 * again. For JSON of any other layout it only reports that.
 */
export class CompactJson {
  /** Other layout, invalid JSON, or truncated. */
  failed = false;
  /** This layout so far, but the end is missing. */
  isCut = false;

  constructor(
    private readonly bytes: Buffer,
    /** The next byte. */
    public at: number,
  ) {}

  /** Skips these bytes, which must come next. */
  expect(expected: Buffer): void {
    if (this.failed) return;
    const { bytes, at } = this;
    for (let nth = 0; nth < expected.length; nth += 1)
      if (bytes[at + nth] !== expected[nth]) return this.fail(at + nth >= bytes.length);
    this.at = at + expected.length;
  }

  /** Position of the text before the next quote; skips the quote, too. Text with escapes has another layout. */
  textBeforeQuote(): TextSpan {
    const start = this.at;
    if (this.failed) return { start, end: start };
    const end = this.bytes.indexOf(quote, start);
    if (end < 0) this.fail(true);
    else this.at = end + 1;
    return { start, end: Math.max(start, end) };
  }

  private fail(isCut: boolean): void {
    this.failed = true;
    this.isCut = isCut;
  }
}
