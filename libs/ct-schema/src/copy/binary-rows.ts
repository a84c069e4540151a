import { BinaryValues } from './binary-values';

/** `PGCOPY\n\377\r\n\0`, no flags, no extension of the header. */
const header = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)]);
/** Where a row would say how many columns it has: -1. */
const trailer = Buffer.from([255, 255]);
/** The number of columns. */
const beforeColumns = 2;

/** Rows for COPY in binary form. */
export class BinaryRows extends BinaryValues {
  private readonly starts: number[] = [];
  private readonly columns: Buffer;

  /**
   * @param columns of each row, each written with one call
   * @param expected bytes of all rows
   */
  constructor(columns: number, expected: number) {
    super(header, expected);
    this.columns = Buffer.from([columns >> 8, columns & 255]);
  }

  row(): void {
    this.starts.push(this.at);
    this.raw(this.columns);
  }

  /**
   * What could not be said before: which rows there are, and their first column; and the second one, where it is given.
   *
   * @param first a bigint of each row; 0: it is left out
   * @param second a timestamp of all
   */
  place(first: Float64Array, second?: Date): void {
    const { room, starts } = this;
    const end = this.at;
    let to = header.length;
    starts.forEach((start, nth) => {
      const value = first[nth] ?? 0;
      if (value === 0) return;
      const next = starts[nth + 1] ?? end;
      if (to !== start) room.copyWithin(to, start, next);
      this.at = to + beforeColumns;
      this.bigint(value);
      if (second !== undefined) this.timestamp(second);
      to += next - start;
    });
    this.at = to;
  }

  /** All rows, and the end. */
  finish(): Buffer {
    this.raw(trailer);
    return this.written;
  }
}
