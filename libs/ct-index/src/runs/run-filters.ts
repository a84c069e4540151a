import { databaseErrorCode } from '@certwright/errors';
import { KeyFilter } from '@certwright/posting-index';
import type { EntityManager } from 'typeorm';

interface Known {
  readonly id: string;
  readonly bytes: number;
  /** Number of lookups before it was known. */
  readonly knownAt: number;
  readonly filter: KeyFilter | null;
}

/** Limits of the loaded filters: all bytes, and as many as an integer of PostgreSQL has bits that are no sign. */
const max = { bytes: 16 * 2 ** 20, filters: 31 };

/** Bytes that take as long to load as a lookup in a run. */
const bytesPerLookup = 1_024;

/** A merge of the smallest runs follows a few commits. */
const renewEveryMs = 1_000;

/** Bytes that are loaded by one statement. */
const pieceBytes = 2 ** 16;

/**
 * Filters of the runs: a lookup passes over those that do not have its key. Each is loaded once the lookups of its run have cost as
 * much as loading it: recent runs do not exist for long, and idle processes load none. A run never changes, and the
 * id of a filter is never used again: a filter is right as long as there is a run with its id.
 */
export class RunFilters {
  /** Ids of the loaded filters. */
  ids: readonly string[] = [];
  /** In the order of `ids`. */
  private loaded: readonly KeyFilter[] = [];
  private known: readonly Known[] = [];
  private lookups = 0;
  private lookupsAtRenewal = 0;
  private isRenewing = false;
  private renewedAtMs = -Infinity;

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  /** @returns a bit for each of `ids`, the lowest for the first one: whether its run does not have the key */
  without(key: number): number {
    this.lookups += 1;
    let bits = 0;
    for (let nth = 0; nth < this.loaded.length; nth += 1)
      if (this.loaded[nth]?.mayHave(key) === false) bits |= 1 << nth;
    return bits;
  }

  /** There were lookups since the last renewal, which was some time ago. */
  get isDue(): boolean {
    if (this.isRenewing || this.lookups === this.lookupsAtRenewal) return false;
    return this.nowMs() >= this.renewedAtMs + renewEveryMs;
  }

  /** Notices new and merged runs, and loads the filters that pay, small ones first. */
  async renew(reader: Pick<EntityManager, 'query'>): Promise<void> {
    this.isRenewing = true;
    this.lookupsAtRenewal = this.lookups;
    try {
      const before = new Map(this.known.map((each) => [each.id, each]));
      const found = await filtersIn(reader);
      this.use(
        found.map(({ id, bytes }) => before.get(id) ?? { id, bytes, knownAt: this.lookups, filter: null }),
      );
      for (const each of this.known) if (this.pays(each)) await this.load(reader, each);
    } finally {
      this.isRenewing = false;
      this.renewedAtMs = this.nowMs();
    }
  }

  private pays({ filter, bytes, knownAt }: Known): boolean {
    return filter === null && (this.lookups - knownAt) * bytesPerLookup >= bytes;
  }

  private async load(reader: Pick<EntityManager, 'query'>, known: Known): Promise<void> {
    const filter = await filterOf(reader, known);
    this.use(this.known.map((each) => (each === known ? { ...each, filter } : each)));
  }

  /** @param known small ones first */
  private use(known: readonly Known[]): void {
    let bytes = 0;
    this.known = known.filter((each) => (bytes += each.bytes) <= max.bytes).slice(0, max.filters);
    const loaded = this.known.flatMap(({ id, filter }) => (filter === null ? [] : [{ id, filter }]));
    this.ids = loaded.map(({ id }) => id);
    this.loaded = loaded.map(({ filter }) => filter);
  }
}

/** Small ones first. None before the migration that adds them, and the grants that follow it. */
async function filtersIn(
  reader: Pick<EntityManager, 'query'>,
): Promise<readonly Pick<Known, 'id' | 'bytes'>[]> {
  try {
    return await reader.query(
      `SELECT filter_id AS id, octet_length(filter) AS bytes FROM ct_run WHERE filter IS NOT NULL ORDER BY 2`,
    );
  } catch (error) {
    if (missing.has(databaseErrorCode(error) ?? '')) return [];
    throw error;
  }
}

/** SQLSTATE of an undefined column, and of one that is not granted. */
const missing: ReadonlySet<string> = new Set(['42703', '42501']);

/** @returns null: its run has been merged meanwhile */
async function filterOf(
  reader: Pick<EntityManager, 'query'>,
  { id, bytes }: Pick<Known, 'id' | 'bytes'>,
): Promise<KeyFilter | null> {
  const bits = Buffer.alloc(bytes);
  for (let at = 0; at < bytes; at += pieceBytes) {
    const [row] = await reader.query<{ piece: string }[]>(
      `SELECT encode(substring(filter FROM $2 FOR $3), 'base64') AS piece FROM ct_run WHERE filter_id = $1`,
      [id, at + 1, pieceBytes],
    );
    if (row === undefined) return null;
    bits.write(row.piece, at, 'base64');
  }
  return new KeyFilter(bits);
}
