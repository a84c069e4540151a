import type { TextSpan } from '@certwright/ct';

const quote = '"'.charCodeAt(0);

/**
 * Reads JSON that is written in one certain way, from its beginning to its end, without a text of all of it: that would be megabytes,
 * of which the parser makes as many again. Of JSON that is written in another way it only says so.
 */
export class CompactJson {
  /** It is written in another way, or is none. */
  failed = false;
  private at = 0;

  constructor(private readonly bytes: Buffer) {}

  get isAtEnd(): boolean {
    return this.at === this.bytes.length;
  }

  /** Steps over these octets where they are next. */
  skip(octets: Buffer): boolean {
    const { bytes, at } = this;
    for (let nth = 0; nth < octets.length; nth += 1) if (bytes[at + nth] !== octets[nth]) return false;
    this.at = at + octets.length;
    return true;
  }

  /** They must be next. */
  expect(octets: Buffer): void {
    if (!this.skip(octets)) this.failed = true;
  }

  /** Where the text is that stands before the next quote, and steps over that, too. With escapes it is another text. */
  textBeforeQuote(): TextSpan {
    const start = this.at;
    const end = this.bytes.indexOf(quote, start);
    if (end < 0) this.failed = true;
    else this.at = end + 1;
    return { start, end: Math.max(start, end) };
  }
}
