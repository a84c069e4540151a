import type { EntityManager } from 'typeorm';
import { insertBlocks, insertRun, young } from '@certwright/ct-schema';
import { RunWriter } from '@certwright/posting-index';
import type { SortedPostings } from './sorted-postings';

/**
 * Makes the postings of one commit findable: a run of its own for each partition of positions that it reaches into.
 *
 * @param positions of each issuance of the postings; 0: it has none of its own
 * @param from first position of the commit; @param to its end, exclusive
 * @param partitionEnds of all partitions that end behind `from`, in order
 */
export async function storePostings(
  tx: EntityManager,
  postings: SortedPostings,
  positions: Float64Array,
  { from, to, partitionEnds }: { from: number; to: number; partitionEnds: readonly number[] },
): Promise<void> {
  let begin = from;
  for (const partition of partitionEnds) {
    if (begin >= to) return;
    const end = Math.min(to, partition);
    const writer = new RunWriter(begin);
    postings.each(positions, begin, end, writer.add);
    const blocks = writer.end();
    if (blocks.length > 0) {
      const run = { level: 0, home: young, partition, from: begin, to: end, halfExpiredDay: null };
      const id = await insertRun(tx, { ...run, postings: writer.postings });
      await insertBlocks(tx, { id, home: young }, blocks);
    }
    begin = end;
  }
}
