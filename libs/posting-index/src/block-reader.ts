import { keyOctets } from './posting';
import { filterHead, RecentDays, small, smallBits, unlisted } from './posting-block';

/** The last factor of a number of 53 bits. */
const mostScale = 2 ** 49;

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

  /** @throws RangeError for octets that are no block, here or in `next` */
  constructor(private readonly octets: Buffer) {
    // The filter is for the database.
    const begin = filterHead + octets.readUInt16BE(0);
    if (begin + keyOctets > octets.length) throw new RangeError('a block ends within its filter');
    this.key = octets.readUIntBE(begin, keyOctets);
    this.at = begin + keyOctets;
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
    const { octets, days } = this;
    while (this.key < wanted) {
      for (let goesOn = true; goesOn;) {
        if (this.at >= octets.length) return false;
        let octet = octets[this.at++] ?? 0;
        const low = octet & 7;
        while (octet >= 128) octet = octets[this.at++] ?? 0;
        goesOn = low >= 4;
        const nth = low & 3;
        if (nth === unlisted) days.list(unzigzag(this.varint()));
        else if (nth > 0) days.nth(nth);
      }
      if (this.at >= octets.length) return false;
      this.key += this.varint();
    }
    return this.key === wanted;
  }

  /** @returns false at the end */
  next(): boolean {
    if (this.at >= this.octets.length) return false;
    if (!this.isFirst && !this.goesOn) {
      this.key += this.varint();
      this.position = this.from;
      if (this.at >= this.octets.length) throw new RangeError('a block ends within a posting');
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
    const { octets } = this;
    let octet = octets[this.at++] ?? 0;
    let value = octet & 127;
    for (let shift = 7; octet >= 128 && shift < smallBits; shift += 7) {
      octet = octets[this.at++] ?? 0;
      value |= (octet & 127) << shift;
    }
    for (let scale = small; octet >= 128; scale *= 128) {
      if (scale > mostScale) throw new RangeError('a number in a block is too long');
      octet = octets[this.at++] ?? 0;
      value += (octet & 127) * scale;
    }
    if (this.at > octets.length) throw new RangeError('a block ends within a number');
    return value;
  }
}

function unzigzag(value: number): number {
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}
