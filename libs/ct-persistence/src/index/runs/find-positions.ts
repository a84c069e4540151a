import type { EntityManager } from 'typeorm';
import { firstLivingDay, keyNumber, shardOf } from './posting';
import { findPostings } from '../batched-statements';
import { BlockReader } from './block-reader';

/** What stands under some keys behind a position. */
export interface FoundPositions {
  /** Ascending, each once. */
  readonly positions: readonly number[];
  /** Up to here nothing is missing; Infinity: there is nothing more. */
  readonly upTo: number;
}

/** How far one statement looks. */
export interface Reach {
  /** Runs at most that are looked into beside the first one behind the cursor. */
  readonly runs: number;
  /** Blocks at most of the first run that follow the first one of a key. */
  readonly following: number;
}

/**
 * One statement, and so one state of the runs. What is asked again from `upTo` on may find other runs, with the same postings.
 *
 * @param after positions behind this one
 * @param limit of positions that are of use
 */
export async function findPositions(
  reader: Pick<EntityManager, 'query'>,
  keys: readonly Buffer[],
  { after, limit, now }: { after: number; limit: number; now: Date },
  reach: Reach,
): Promise<FoundPositions> {
  const numbers = keys.map((key) => keyNumber(key));
  const [row] = await reader.query<{ packed: Buffer }[]>(findPostings.one, [
    after,
    numbers.map(shardOf),
    numbers,
    reach.runs,
    reach.following,
  ]);
  const found = row?.packed ?? nothing;
  const positions = new KeyPositions(after, limit, firstLivingDay(now));
  for (const { runEnd, nth, postings } of foundBlocks(found))
    positions.read(`${runEnd} ${nth}`, new BlockReader(postings), numbers[nth - 1] ?? -1);
  const lookedAtBefore = bigintAt(found, 0);
  return positions.page(lookedAtBefore === 0 ? Infinity : lookedAtBefore - 1);
}

/** Everything was looked at. */
const nothing = Buffer.alloc(8);

interface FoundBlock {
  /** Where its run ends, exclusive. */
  readonly runEnd: number;
  /** Of the key, from 1. */
  readonly nth: number;
  readonly postings: Buffer;
}

/**
 * Reads what `ct_find_postings` returns: where the last run ends that was looked at, if there are others; then of each block where
 * its run ends, the number of its key, how many octets, octets.
 */
function* foundBlocks(found: Buffer): Generator<FoundBlock> {
  for (let at = 8; at < found.length;) {
    const begin = at + 16;
    const runEnd = bigintAt(found, at);
    at = begin + found.readInt32BE(begin - 4);
    yield { runEnd, nth: found.readInt32BE(begin - 8), postings: found.subarray(begin, at) };
  }
}

/** Of 53 bits. */
function bigintAt(octets: Buffer, at: number): number {
  return octets.readInt32BE(at) * 2 ** 32 + octets.readUInt32BE(at + 4);
}

/** Collects the positions of all keys from their blocks, which come in order. */
class KeyPositions {
  private readonly positions: number[] = [];
  /** Of lists that go on in what was not read: how far they have been read. */
  private readonly unfinished = new Map<string, number>();
  /** Lists of which more is not needed. */
  private readonly sufficient = new Set<string>();

  constructor(
    private readonly after: number,
    private readonly limit: number,
    private readonly today: number,
  ) {}

  /** @param list of which the block is a part: a key in a run */
  read(list: string, block: BlockReader, key: number): void {
    if (this.sufficient.has(list)) return;
    this.unfinished.delete(list);
    let found = 0;
    if (!block.skipTo(key)) return;
    while (block.next()) {
      if (block.key > key) return;
      if (block.position <= this.after || block.day < this.today) continue;
      this.positions.push(block.position);
      found += 1;
      if (found === this.limit) {
        this.sufficient.add(list);
        return void this.unfinished.set(list, block.position);
      }
    }
    if (block.key === key && block.goesOn) this.unfinished.set(list, Math.max(this.after, block.position));
  }

  page(seen: number): FoundPositions {
    const { limit } = this;
    const upTo = Math.min(seen, ...this.unfinished.values());
    const positions = [...new Set(this.positions)].filter((position) => position <= upTo);
    positions.sort((one, other) => one - other);
    const last = positions[limit - 1];
    return {
      positions: positions.slice(0, limit),
      upTo: positions.length > limit && last !== undefined ? last : upTo,
    };
  }
}
