/** Max cached keys of ancestors. */
const maxKept = 16_384;

/** Max characters of a name whose ancestors are cached: longer than any real one, and a certificate may have 16 MB of names. */
const maxNameLength = 256;

/**
 * Keys of the ancestors of recent names: half of them in a log occur in an earlier name. There are two generations; the
 * older one is dropped as a whole, which costs nothing per name.
 */
export class TreeKeys {
  private young = new Map<string, string>();
  private old = new Map<string, string>();

  /** @param keyOf hashes unknown ancestors */
  constructor(private readonly keyOf: (ancestor: string) => string) {}

  /** @param at offset of the ancestor in the name */
  of(name: string, at: number): string {
    const ancestor = name.slice(at);
    if (name.length > maxNameLength) return this.keyOf(ancestor);
    const known = this.young.get(ancestor);
    if (known !== undefined) return known;
    const key = this.old.get(ancestor) ?? this.keyOf(ancestor);
    if (this.young.size * 2 >= maxKept) {
      this.old = this.young;
      this.young = new Map();
    }
    this.young.set(ancestor, key);
    return key;
  }
}
