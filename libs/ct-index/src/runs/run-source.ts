import type { EntityManager } from 'typeorm';
import { BlockReader } from '@certwright/posting-index';
import { blockTable, type Run } from '@certwright/ct-schema';

/** Blocks of one run, read in order, with prefetching. */
export class RunSource {
  reader: BlockReader | null = null;
  /** All blocks were fetched. */
  isFetched = false;
  /** Position of the last fetched block. */
  readonly place = { shard: -1, key: -1, position: -1 };
  private readonly blocks: Buffer[] = [];

  constructor(
    readonly run: Run,
    readonly nth: number,
  ) {}

  /** More blocks must be fetched before the reader continues. */
  get isEmpty(): boolean {
    return this.blocks.length === 0;
  }

  fetched({ shard, key, position, postings }: Block): void {
    this.blocks.push(postings);
    Object.assign(this.place, { shard, key: Number(key), position: Number(position) });
  }

  /** Advances to the next posting. @returns whether one is buffered */
  next(): boolean {
    if (this.reader?.next() === true) return true;
    const block = this.blocks.shift();
    this.reader = block === undefined ? null : new BlockReader(block);
    return this.reader?.next() === true;
  }
}

/** Blocks of all sources together that are fetched at once. */
const blocksAtATime = 2_048;
const maxOfOne = 128;

/**
 * Fetches for all sources with an empty buffer.
 *
 * @param isSharded each source has a separate statement: Citus has no LIMIT per row over distributed tables
 */
export async function fetchBlocks(
  tx: EntityManager,
  sources: readonly RunSource[],
  isSharded: boolean,
): Promise<void> {
  const wanting = sources.filter((source) => source.isEmpty && !source.isFetched);
  const limit = Math.max(1, Math.min(maxOfOne, Math.floor(blocksAtATime / sources.length)));
  if (isSharded) {
    for (const source of wanting) await fetchFor(tx, source, limit);
    return;
  }
  for (const [home, those] of Map.groupBy(wanting, ({ run }) => run.home)) {
    const rows: FetchedBlock[] = await tx.query(
      `SELECT nth::int, block.shard, block.first_key AS key, block.first_position AS position, block.postings
       FROM unnest($1::int[], $2::smallint[], $3::bigint[], $4::bigint[]) WITH ORDINALITY
         AS place (run, shard, key, position, nth)
       CROSS JOIN LATERAL (
         SELECT shard, first_key, first_position, postings FROM ${blockTable(home)}
         WHERE run = place.run AND (shard, first_key, first_position) > (place.shard, place.key, place.position)
         ORDER BY shard, first_key, first_position LIMIT $5) AS block
       ORDER BY nth, block.shard, block.first_key, block.first_position`,
      [
        those.map(({ run }) => run.id),
        those.map(({ place }) => place.shard),
        those.map(({ place }) => place.key),
        those.map(({ place }) => place.position),
        limit,
      ],
    );
    const counts = those.map(() => 0);
    for (const { nth, ...block } of rows) {
      those[nth - 1]?.fetched(block);
      counts[nth - 1] = (counts[nth - 1] ?? 0) + 1;
    }
    those.forEach((source, at) => (source.isFetched = (counts[at] ?? 0) < limit));
  }
}

async function fetchFor(tx: EntityManager, source: RunSource, limit: number): Promise<void> {
  const { run, place } = source;
  const rows: Block[] = await tx.query(
    `SELECT shard, first_key AS key, first_position AS position, postings FROM ${blockTable(run.home)}
     WHERE run = $1 AND (shard, first_key, first_position) > ($2::smallint, $3::bigint, $4::bigint)
     ORDER BY shard, first_key, first_position LIMIT $5`,
    [run.id, place.shard, place.key, place.position, limit],
  );
  for (const block of rows) source.fetched(block);
  source.isFetched = rows.length < limit;
}

interface FetchedBlock extends Block {
  readonly nth: number;
}

interface Block {
  readonly shard: number;
  readonly key: string;
  readonly position: string;
  readonly postings: Buffer;
}
