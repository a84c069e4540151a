import type { PageReader } from '../page-reader';
import { BlockReader } from '@certwright/posting-index';
import {
  type BlocksOfKey,
  type KeyBehind,
  postingsAnywhere,
  type PostingsLookup,
  postingsNear,
  postingsOnward,
} from './found-blocks';
import { firstLivingDay, keyNumber } from '@certwright/posting-index';
import { type Home, isUndefinedTable, young } from '@certwright/ct-schema';

/** Positions under some keys after a cursor. */
export interface FoundPositions {
  /** Ascending, without duplicates. */
  readonly positions: readonly number[];
  /** Partitions of the positions, by their ends. */
  readonly partitions: ReadonlySet<number>;
  /** Complete up to this position; Infinity: there are no more. */
  readonly upTo: number;
  /** The rest is in the run that was read, and not in others. */
  readonly goesOn: boolean;
}

/**
 * Where to look: `near`: from the first run after the cursor, as far as the runs are in one table, which is nearly always
 * sufficient; `onward`: further in the first run; `anywhere`: in all runs.
 */
export interface Reach {
  readonly where: 'near' | 'onward' | 'anywhere';
  /** Number of lookups for the previous page. */
  readonly looked: number;
}

export interface PositionsRequest {
  /** Positions after this one. */
  readonly after: number;
  /** Max useful positions. */
  readonly limit: number;
  readonly now: Date;
  /** Earlier result of `endOfReading`. */
  readonly end: number;
}

/** One state of the runs. A later lookup from `upTo` on may find other runs, with the same postings. */
export async function findPositions(
  reader: PageReader,
  keys: readonly Buffer[],
  request: PositionsRequest,
  reach: Reach,
): Promise<FoundPositions> {
  const { after, limit } = request;
  const numbers = keys.map((key) => keyNumber(key));
  const isSharded = await reader.isSharded();
  if (reach.where === 'near' && !isSharded) {
    const kept = positionsIn(reader.recent?.behind(numbers, after) ?? [], numbers, request);
    // `Infinity`: there may be new runs.
    const goesOn = kept.goesOn && kept.upTo > after && kept.upTo < Infinity;
    if (kept.positions.length >= limit || goesOn) return kept;
  }
  const maxBlocks = maxBlocksOf(reach, after, keys.length);
  const questions = numbers.map((key) => ({ after, key, maxBlocks, filters: reader.filters }));
  const found = isSharded
    ? await lookOneByOne(reader, reach, questions)
    : await look(reader, reach, questions);
  const page = positionsIn(found, numbers, request);
  if (page.positions.length >= limit && !isSharded) reader.recent?.keep(numbers, after, found);
  return page;
}

/** @param found of each of the keys, from `after` or an earlier position on */
function positionsIn(
  found: readonly BlocksOfKey[],
  keys: readonly number[],
  { after, limit, now, end }: PositionsRequest,
): FoundPositions {
  const positions = new KeyPositions(after, limit, firstLivingDay(now));
  const partitions = new Set<number>();
  // A run that was not read may begin before the cursor.
  let seen = Math.max(after, Math.min(end, ...found.map((each) => each.notFrom)) - 1);
  let readRun = 0;
  for (const { nth, block } of inOrderOfRuns(found)) {
    const { from, runEnd, partition, postings } = block;
    if (runEnd > readRun && positions.areEnough) seen = Math.min(seen, readRun - 1);
    // Not the end: on a distributed index, the runs of another key may have been merged since, and begin earlier.
    if (from > seen) continue;
    readRun = runEnd;
    partitions.add(partition);
    positions.read(`${runEnd} ${nth}`, new BlockReader(postings), keys[nth] ?? -1);
  }
  return { ...positions.page(seen), partitions };
}

function inOrderOfRuns(found: readonly BlocksOfKey[]) {
  const blocks = found.flatMap((each, nth) => each.blocks.map((block) => ({ nth, block })));
  return blocks.sort((one, other) => one.block.runEnd - other.block.runEnd);
}

/**
 * Number of useful blocks. Names with few certificates usually have at most six; one that filled the previous page will
 * fill this one from the first blocks. PostgreSQL sends more than 8 kB in chunks, each of which wakes the client: six
 * blocks are smaller.
 */
function maxBlocksOf({ where, looked }: Reach, after: number, keys: number): number {
  if (where === 'near') return Math.max(2, Math.floor((after === 0 ? 6 : 3) / keys));
  // A key may continue with many expired postings.
  return where === 'onward' ? Math.min(16, 2 ** looked) : 32;
}

async function look(
  reader: PageReader,
  reach: Reach,
  questions: readonly KeyBehind[],
): Promise<readonly BlocksOfKey[]> {
  if (reach.where === 'anywhere') return await reader.look(postingsAnywhere, questions);
  return await lookInHome(reader, reach.where === 'near' ? postingsNear : postingsOnward, questions);
}

/** On a distributed index: a statement with several keys cannot be routed to one server. */
async function lookOneByOne(
  reader: PageReader,
  reach: Reach,
  questions: readonly KeyBehind[],
): Promise<readonly BlocksOfKey[]> {
  const found = await Promise.all(questions.map(async (each) => await look(reader, reach, [each])));
  return found.flat();
}

/** Partitions are merged or dropped every few days: more than this many in one page indicate an error. */
const maxHomes = 20;

async function lookInHome(
  reader: PageReader,
  postingsIn: (home: Home) => PostingsLookup,
  questions: readonly KeyBehind[],
): Promise<readonly BlocksOfKey[]> {
  const after = questions[0]?.after ?? 0;
  let home = reader.settled.behind(after);
  for (let lookup = 0; lookup < maxHomes; lookup += 1) {
    try {
      const found = await reader.look(postingsIn(home), questions);
      for (const each of found) reader.settled.learn(each.home);
      const unread = found.find((each) => each.notFrom <= after + 1 && each.home !== home);
      if (unread === undefined) return found;
      home = unread.home;
    } catch (error) {
      if (home === young || !isUndefinedTable(error)) throw error;
      // The partition was dropped; the next lookup returns what follows.
      reader.settled.forget(home);
      home = young;
    }
  }
  throw new Error(`the first run behind ${after} was in none of ${maxHomes} places`);
}

/** Collects the positions of all keys from their sorted blocks. */
class KeyPositions {
  private readonly positions: number[] = [];
  /** For lists that continue in unread blocks: how far they have been read. */
  private readonly unfinished = new Map<string, number>();
  /** Lists of which no more is needed. */
  private readonly sufficient = new Set<string>();

  constructor(
    private readonly after: number,
    private readonly limit: number,
    private readonly today: number,
  ) {}

  /** Positions of the following runs are higher. */
  get areEnough(): boolean {
    return this.positions.length >= this.limit && new Set(this.positions).size >= this.limit;
  }

  /** @param list the block's list: a key in a run */
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

  /** @param seen end of the range that was read */
  page(seen: number): Omit<FoundPositions, 'partitions'> {
    const { limit } = this;
    const readTo = Math.min(...this.unfinished.values());
    const upTo = Math.min(seen, readTo);
    const positions = [...new Set(this.positions)].filter((position) => position <= upTo);
    positions.sort((one, other) => one - other);
    const last = positions[limit - 1];
    return {
      positions: positions.slice(0, limit),
      upTo: positions.length > limit && last !== undefined ? last : upTo,
      goesOn: readTo <= seen,
    };
  }
}
