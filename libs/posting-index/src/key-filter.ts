/**
 * Which keys a run has: a Bloom filter with two bits for each key. The number of its bits is a power of two, between 8 and 16 for
 * each key, so that it lets through 2 to 5 % of the keys that the run does not have.
 *
 * Keys are evenly distributed: each bit number is the end of a different half of the key.
 */
export class KeyFilter {
  private readonly lastBit: number;

  /** @param bits as many bytes as a power of two, at most `maxFilterBytes` */
  constructor(private readonly bits: Uint8Array) {
    this.lastBit = 8 * bits.length - 1;
  }

  /** False: it does not. */
  mayHave(key: number): boolean {
    const upper = Math.floor(key / halfKey);
    const lower = key - upper * halfKey;
    return this.has(firstHash(upper, lower)) && this.has(secondHash(upper, lower));
  }

  private has(hash: number): boolean {
    const bit = hash & this.lastBit;
    return (((this.bits[bit >>> 3] ?? 0) >>> (bit & 7)) & 1) === 1;
  }
}

const halfKey = 2 ** 24;
const bitsPerKey = 8;

/** The hashes have 26 bits. */
export const maxFilterBytes = 2 ** 23;
const minFilterBytes = 64;

function firstHash(upper: number, lower: number): number {
  return ((upper & 3) << 24) | lower;
}

function secondHash(upper: number, lower: number): number {
  return ((lower & 3) << 24) | upper;
}

/** Makes the filter of one run from the keys of its postings in order. */
export class KeyFilterWriter {
  private readonly bits: Uint8Array;
  private readonly lastBit: number;
  private keys = 0;
  private last = -1;

  /** @param postings at least as many as it will have keys */
  constructor(postings: number) {
    let bytes = minFilterBytes;
    while (bytes < maxFilterBytes && 8 * bytes < bitsPerKey * postings) bytes *= 2;
    this.bits = new Uint8Array(bytes);
    this.lastBit = 8 * bytes - 1;
  }

  add(key: number): void {
    if (key === this.last) return;
    this.last = key;
    this.keys += 1;
    const upper = Math.floor(key / halfKey);
    const lower = key - upper * halfKey;
    this.set(firstHash(upper, lower));
    this.set(secondHash(upper, lower));
  }

  private set(hash: number): void {
    const bit = hash & this.lastBit;
    const at = bit >>> 3;
    this.bits[at] = (this.bits[at] ?? 0) | (1 << (bit & 7));
  }

  /** @returns bytes for `KeyFilter`; null: it has too many keys for one */
  end(): Buffer | null {
    if (bitsPerKey * this.keys > 8 * this.bits.length) return null;
    let { length } = this.bits;
    // Half of the size has the same bits, by one digit less.
    while (length > minFilterBytes && bitsPerKey * this.keys <= 4 * length) {
      length /= 2;
      for (let at = 0; at < length; at += 1)
        this.bits[at] = (this.bits[at] ?? 0) | (this.bits[at + length] ?? 0);
    }
    return Buffer.from(this.bits.buffer, 0, length);
  }
}
