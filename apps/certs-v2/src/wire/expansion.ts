/**
 * Expandable members of the response: a tree of names. A nested name alone yields its parent with the base fields
 * too; unknown and empty names are ignored. A lookup costs the same for any number of names: a page of the list looks
 * up each of its names.
 */
export class Expansion {
  private constructor(private readonly members = new Map<string, Expansion>()) {}

  static readonly none = new Expansion();

  /** @param expand the values of the `expand` parameter: absent, one text, or an array when repeated */
  static of(expand: unknown): Expansion {
    const root = new Expansion();
    for (const value of [expand].flat()) {
      if (typeof value !== 'string') continue;
      let at: Expansion = root;
      for (const name of value.split('.')) if (name !== '') at = at.ensured(name);
    }
    return root;
  }

  has(name: string): boolean {
    return this.members.has(name);
  }

  /** Expansions within the member: `current.crt` below `current` is `crt`. */
  below(name: string): Expansion {
    return this.members.get(name) ?? Expansion.none;
  }

  private ensured(name: string): Expansion {
    const known = this.members.get(name);
    if (known !== undefined) return known;
    const member = new Expansion();
    this.members.set(name, member);
    return member;
  }
}
