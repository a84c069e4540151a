/** Keys of ancestors that are kept, at most. */
const maxKept = 16_384;

/** Characters of a name whose ancestors are kept: longer than any real one, and a certificate may have some of 16 MB. */
const maxNameLength = 256;

/**
 * Keys of the ancestors of recent names: every second one of a log is that of another name before it. Two generations, of which the
 * older one goes as a whole: that costs nothing per name.
 */
export class TreeKeys {
  private young = new Map<string, string>();
  private old = new Map<string, string>();

  /** @param keyOf hashes what is not known */
  constructor(private readonly keyOf: (ancestor: string) => string) {}

  /** @param at where the ancestor begins in the name */
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
