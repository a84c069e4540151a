import { keyBytes } from './posting';
import { filterHead, RecentDays, small, smallBits, unlisted } from './posting-block';

/** The last factor of a number of 53 bits. */
const maxScale = 2 ** 49;

/** Reads a block posting by posting. */
export class BlockReader {
  key: number;
  position = 0;
  day = 0;
  /** The next posting, here or at the beginning of the next block, has the same key. */
  goesOn = false;
  private at: number;
  private readonly from: number;
  private readonly days = new RecentDays();
  private isFirst = true;

  /** @throws RangeError for bytes that are no block, here or in `next` */
  constructor(private readonly bytes: Buffer) {
    // The filter is for the database.
    const begin = filterHead + bytes.readUInt16BE(0);
    if (begin + keyBytes > bytes.length) throw new RangeError('a block ends within its filter');
    this.key = bytes.readUIntBE(begin, keyBytes);
    this.at = begin + keyBytes;
    this.from = this.varint();
    this.position = this.from;
    this.days.begin(this.varint());
  }

  /**
   * Passes over the postings of smaller keys, several times as fast as `next`; called before it.
   *
   * @returns whether the next one has the key
   */
  skipTo(wanted: number): boolean {
    const { bytes, days } = this;
    while (this.key < wanted) {
      for (let goesOn = true; goesOn;) {
        if (this.at >= bytes.length) return false;
        let byte = bytes[this.at++] ?? 0;
        const low = byte & 7;
        while (byte >= 128) byte = bytes[this.at++] ?? 0;
        goesOn = low >= 4;
        const nth = low & 3;
        if (nth === unlisted) days.list(unzigzag(this.varint()));
        else if (nth > 0) days.nth(nth);
      }
      if (this.at >= bytes.length) return false;
      this.key += this.varint();
    }
    return this.key === wanted;
  }

  /** @returns false at the end */
  next(): boolean {
    if (this.at >= this.bytes.length) return false;
    if (!this.isFirst && !this.goesOn) {
      this.key += this.varint();
      this.position = this.from;
      if (this.at >= this.bytes.length) throw new RangeError('a block ends within a posting');
    }
    this.isFirst = false;
    const value = this.varint();
    const distance = Math.floor(value / 8);
    const low = value - distance * 8;
    this.position += distance;
    this.goesOn = low >= 4;
    const nth = low & 3;
    this.day = nth === unlisted ? this.days.list(unzigzag(this.varint())) : this.days.nth(nth);
    return true;
  }

  private varint(): number {
    const { bytes } = this;
    let byte = bytes[this.at++] ?? 0;
    let value = byte & 127;
    for (let shift = 7; byte >= 128 && shift < smallBits; shift += 7) {
      byte = bytes[this.at++] ?? 0;
      value |= (byte & 127) << shift;
    }
    for (let scale = small; byte >= 128; scale *= 128) {
      if (scale > maxScale) throw new RangeError('a number in a block is too long');
      byte = bytes[this.at++] ?? 0;
      value += (byte & 127) * scale;
    }
    if (this.at > bytes.length) throw new RangeError('a block ends within a number');
    return value;
  }
}

function unzigzag(value: number): number {
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}
