/** Max share of occupied slots, as a fraction: more of them make searches for absent items longer. */
const maxLoad = { numerator: 3, denominator: 5 };

const initialSlots = 64;

/**
 * Hash table of positive integers with linear probing. It stores only numbers, so a million items cost the garbage
 * collector nothing. Callers compare items themselves: they read `pairs` from slot `hash & mask` on until an empty one.
 */
export class SlotTable {
  /** Slot `i`: the hash at `2 * i`, the item at `2 * i + 1`; item 0: the slot is empty. */
  pairs = new Int32Array(2 * initialSlots);
  mask = initialSlots - 1;
  private items = 0;

  /** The item is not in the table yet. */
  add(hash: number, item: number): void {
    this.items += 1;
    if (this.items * maxLoad.denominator > (this.mask + 1) * maxLoad.numerator) this.double();
    this.place(hash, item);
  }

  /** The item is in the table under this hash. */
  remove(hash: number, item: number): void {
    const { pairs, mask } = this;
    let slot = hash & mask;
    while (pairs[2 * slot + 1] !== item) slot = (slot + 1) & mask;
    this.items -= 1;
    // Later items of the same sequence move up, so that no search ends too early.
    for (let next = (slot + 1) & mask; pairs[2 * next + 1] !== 0; next = (next + 1) & mask) {
      const home = (pairs[2 * next] ?? 0) & mask;
      if (((next - home) & mask) < ((next - slot) & mask)) continue;
      pairs.copyWithin(2 * slot, 2 * next, 2 * next + 2);
      slot = next;
    }
    pairs.fill(0, 2 * slot, 2 * slot + 2);
  }

  private place(hash: number, item: number): void {
    const { pairs, mask } = this;
    let slot = hash & mask;
    while (pairs[2 * slot + 1] !== 0) slot = (slot + 1) & mask;
    pairs[2 * slot] = hash;
    pairs[2 * slot + 1] = item;
  }

  private double(): void {
    const old = this.pairs;
    this.pairs = new Int32Array(2 * old.length);
    this.mask = 2 * this.mask + 1;
    for (let at = 0; at < old.length; at += 2) {
      const item = old[at + 1] ?? 0;
      if (item !== 0) this.place(old[at] ?? 0, item);
    }
  }
}

/** Spreads the bits of a number over all others (the last step of MurmurHash3). */
export function mixed(hash: number): number {
  let bits = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}

/** The array with room for the index: itself, or a copy that is a quarter longer. */
export function withRoom<Numbers extends Int32Array | Uint8Array>(numbers: Numbers, index: number): Numbers {
  if (index < numbers.length) return numbers;
  const length = Math.max(index + 1, Math.ceil(numbers.length * 1.25));
  const longer = new (numbers.constructor as new (length: number) => Numbers)(length);
  longer.set(numbers);
  return longer;
}
