import type { BlocksOfKey } from './found-blocks';

interface Kept {
  readonly after: number;
  readonly found: readonly BlocksOfKey[];
  readonly expiresAtMs: number;
}

/** Max searches whose blocks are kept; each has 3 to 50 kB. */
const maxSearches = 64;

/** How long a client may take for the request of its next page, ms. */
const maxAgeMs = 10_000;

/**
 * The blocks that filled the last page of each search: they usually have some more pages, which then need no lookup of postings.
 * Positions are assigned in the order of commits, so that nothing is added before a position that was found.
 */
export class RecentBlocks {
  constructor(
    private readonly nowMs: () => number = () => performance.now(),
    private readonly kept = new Map<string, Kept>(),
    private readonly owner = '',
  ) {}

  /** For the searches of one account: response times must not reveal what others search for. */
  of(owner: string): RecentBlocks {
    return new RecentBlocks(this.nowMs, this.kept, owner);
  }

  /** @returns what was found for the keys from an earlier cursor on; undefined: nothing is kept */
  behind(keys: readonly number[], after: number): readonly BlocksOfKey[] | undefined {
    const kept = this.kept.get(this.nameOf(keys));
    return kept !== undefined && kept.after <= after && this.nowMs() < kept.expiresAtMs
      ? kept.found
      : undefined;
  }

  keep(keys: readonly number[], after: number, found: readonly BlocksOfKey[]): void {
    const name = this.nameOf(keys);
    this.kept.delete(name);
    this.kept.set(name, { after, found: found.map(copyOf), expiresAtMs: this.nowMs() + maxAgeMs });
    const [oldest] = this.kept.keys();
    if (this.kept.size > maxSearches && oldest !== undefined) this.kept.delete(oldest);
  }

  private nameOf(keys: readonly number[]): string {
    return [this.owner, ...keys].join(' ');
  }
}

/** Without the memory of other lookups in the same statement. */
function copyOf(found: BlocksOfKey): BlocksOfKey {
  return {
    ...found,
    blocks: found.blocks.map((each) => ({ ...each, postings: Buffer.from(each.postings) })),
  };
}
