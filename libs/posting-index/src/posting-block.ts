/**
 * Bytes of a block at most. A row has 60 bytes beside it, and eight rows fill a page of PostgreSQL (8,168 bytes and a line
 * pointer of four each) without being moved out of line, which begins above 2,032 bytes of row.
 */
export const blockBytes = 956;

/**
 * A block of postings, in order of key and position, that can be read without anything beside it:
 *
 * - two bytes: how many bytes the filter has; the filter: of its bits, the least significant one of each byte first, the one with
 *   the number `key` modulo their number is set for each key
 * - first key, six bytes; varint: first position of the run; varint: the day that is assumed to be the latest one
 * - varint for each posting: distance of the position from the run's first one, or under the same key from the one before;
 *   times eight, plus four when the next posting has the same key, plus the day: 0, 1, 2: of the three latest days; 3: a varint
 *   follows, distance from the latest day, zigzag
 * - after a posting whose key ends, varint: distance to the next key
 *
 * A last posting with the four says that the next block goes on with the key.
 */
export interface PostingBlock {
  readonly firstKey: number;
  /** 0 where the block begins with all that the run has under its first key. */
  readonly firstPosition: number;
  readonly bytes: Buffer;
}

/** Bytes in front of the filter. */
export const filterHead = 2;

/** Place of a day that is none of the three latest ones. */
export const unlisted = 3;

/** The three latest days, the latest one first: most certificates of a time live equally long. */
export class RecentDays {
  private first = 0;
  private second = 0;
  private third = 0;

  get latest(): number {
    return this.first;
  }

  begin(day: number): void {
    this.first = this.second = this.third = day;
  }

  /** @returns its place, or `unlisted`; it is the latest one from now on */
  take(day: number): number {
    if (day === this.first) return 0;
    const nth = day === this.second ? 1 : day === this.third ? 2 : unlisted;
    this.promote(day, nth);
    return nth;
  }

  nth(nth: number): number {
    if (nth > 0) this.promote(nth === 1 ? this.second : this.third, nth);
    return this.first;
  }

  /** @param distance from the latest one */
  list(distance: number): number {
    this.promote(this.first + distance, unlisted);
    return this.first;
  }

  private promote(day: number, nth: number): void {
    if (nth > 1) this.third = this.second;
    this.second = this.first;
    this.first = day;
  }
}

/** What fits four bytes of a varint is written and read with integers, which are quicker than numbers of 53 bits. */
export const smallBits = 28;
export const small = 2 ** smallBits;
