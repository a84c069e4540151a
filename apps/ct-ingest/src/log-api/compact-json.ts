import type { TextSpan } from '@certwright/ct';

const quote = '"'.charCodeAt(0);

/**
 * Reads JSON that is written in one certain way, without a text of all of it: that would be megabytes, of which the parser makes as many
 * again. Of JSON that is written in another way it only says so.
 */
export class CompactJson {
  /** It is written in another way, or is none, or is cut. */
  failed = false;
  /** What there is of it is written in this way, and its end is missing. */
  isCut = false;

  constructor(
    private readonly bytes: Buffer,
    /** What is next. */
    public at: number,
  ) {}

  /** Steps over these octets, which must be next. */
  expect(octets: Buffer): void {
    if (this.failed) return;
    const { bytes, at } = this;
    for (let nth = 0; nth < octets.length; nth += 1)
      if (bytes[at + nth] !== octets[nth]) return this.fail(at + nth >= bytes.length);
    this.at = at + octets.length;
  }

  /** Where the text is that stands before the next quote, and steps over that, too. With escapes it is another text. */
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
