import { setImmediate } from 'node:timers/promises';
import { expiryDay, keyNumbers, type TakePosting } from '@certwright/posting-index';

export interface Indexed {
  readonly nameKeys: readonly string[];
  readonly notAfter: Date;
}

/** Radix: twelve bits of a key at a time. */
const digitBits = 12;
const digits = 1 << digitBits;
const lastDigit = digits - 1;
const halfKey = 2 ** 24;

/**
 * Postings of issuances, by key and position, without duplicates. Created before positions are known: `nth` is the issuance's index.
 */
export class SortedPostings {
  private constructor(
    private readonly keys: Float64Array,
    private readonly nths: Int32Array,
    private readonly days: Int32Array,
  ) {}

  /** Yields to other work when there are more keys than in most commits. @throws RangeError as `keyNumbers` */
  static async of(issuances: readonly Indexed[]): Promise<SortedPostings> {
    const keys = await allKeys(issuances);
    const size = keys.length;
    const nths = new Int32Array(size);
    const days = new Int32Array(issuances.length);
    let at = 0;
    issuances.forEach(({ nameKeys, notAfter }, nth) => {
      days[nth] = expiryDay(notAfter);
      nths.fill(nth, at, (at += nameKeys.length));
    });
    const order = await orderOf(keys);
    const sortedKeys = new Float64Array(size);
    const sortedNths = new Int32Array(size);
    for (let to = 0; to < size; to += 1) {
      const from = order[to] ?? 0;
      sortedKeys[to] = keys[from] ?? 0;
      sortedNths[to] = nths[from] ?? 0;
    }
    return new SortedPostings(sortedKeys, sortedNths, days);
  }

  /**
   * Iterates over postings of issuances with a position in a range.
   *
   * @param positions of each issuance; 0: it has no new position
   * @returns number of postings
   */
  each(positions: Float64Array, from: number, to: number, take: TakePosting): number {
    const { keys, nths, days } = this;
    let count = 0;
    let lastKey = -1;
    let lastNth = -1;
    for (let at = 0; at < keys.length; at += 1) {
      const key = keys[at] ?? 0;
      const nth = nths[at] ?? 0;
      const position = positions[nth] ?? 0;
      if (position < from || position >= to) continue;
      // Two keys of one issuance may have the same stored bytes.
      if (key === lastKey && nth === lastNth) continue;
      take(key, position, days[nth] ?? 0);
      lastKey = key;
      lastNth = nth;
      count += 1;
    }
    return count;
  }
}

/** Keys that are converted at once: some milliseconds. */
const maxKeysAtOnce = 8_192;

async function allKeys(issuances: readonly Indexed[]): Promise<Float64Array> {
  const nameKeys = issuances.flatMap((each) => each.nameKeys);
  const keys = new Float64Array(nameKeys.length);
  for (let from = 0; from < keys.length; from += maxKeysAtOnce) {
    if (from > 0) await setImmediate();
    keys.set(keyNumbers(nameKeys.slice(from, from + maxKeysAtOnce)), from);
  }
  return keys;
}

/** Stable radix sort from the lowest digit to the highest: positions under one key stay in order. */
async function orderOf(keys: Float64Array): Promise<Uint32Array> {
  const size = keys.length;
  const low = new Uint32Array(size);
  const high = new Uint32Array(size);
  let order = new Uint32Array(size);
  let other = new Uint32Array(size);
  for (let at = 0; at < size; at += 1) {
    const key = keys[at] ?? 0;
    const upper = Math.floor(key / halfKey);
    high[at] = upper;
    low[at] = key - upper * halfKey;
    order[at] = at;
  }
  for (const half of [low, high]) {
    for (const shift of [0, digitBits]) {
      byDigit(half, shift, order, other);
      if (size > maxKeysAtOnce) await setImmediate();
      [order, other] = [other, order];
    }
  }
  return order;
}

function byDigit(values: Uint32Array, shift: number, from: Uint32Array, to: Uint32Array): void {
  const places = new Uint32Array(digits);
  for (let at = 0; at < from.length; at += 1) {
    const digit = ((values[at] ?? 0) >>> shift) & lastDigit;
    places[digit] = (places[digit] ?? 0) + 1;
  }
  let sum = 0;
  for (let digit = 0; digit < digits; digit += 1) {
    const count = places[digit] ?? 0;
    places[digit] = sum;
    sum += count;
  }
  for (const each of from) {
    const digit = ((values[each] ?? 0) >>> shift) & lastDigit;
    const place = places[digit] ?? 0;
    to[place] = each;
    places[digit] = place + 1;
  }
}
