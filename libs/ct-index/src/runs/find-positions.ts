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

/** What stands under some keys behind a position. */
export interface FoundPositions {
  /** Ascending, each once. */
  readonly positions: readonly number[];
  /** Of the positions, by their ends. */
  readonly partitions: ReadonlySet<number>;
  /** Up to here nothing is missing; Infinity: there is nothing more. */
  readonly upTo: number;
  /** What follows is in the run that was looked into, and not in others. */
  readonly goesOn: boolean;
}

/**
 * Where to look: `near`: from the first run behind the cursor on, as far as the runs are in one table, which is nearly always all
 * there is; `onward`: further in the first run; `anywhere`: in all runs.
 */
export interface Reach {
  readonly where: 'near' | 'onward' | 'anywhere';
  /** How often was looked for the page before. */
  readonly looked: number;
}

/**
 * One state of the runs. What is asked again from `upTo` on may find other runs, with the same postings.
 *
 * @param after positions behind this one
 * @param limit of positions that are of use
 * @param end `endOfRuns` from before
 */
export async function findPositions(
  reader: PageReader,
  keys: readonly Buffer[],
  { after, limit, now, end }: { after: number; limit: number; now: Date; end: number },
  reach: Reach,
): Promise<FoundPositions> {
  const numbers = keys.map((key) => keyNumber(key));
  const maxBlocks = maxBlocksOf(reach, after, keys.length);
  const questions = numbers.map((key) => ({ after, key, maxBlocks }));
  const found = reader.isSharded
    ? await lookOneByOne(reader, reach, questions)
    : await look(reader, reach, questions);
  const positions = new KeyPositions(after, limit, firstLivingDay(now));
  const partitions = new Set<number>();
  for (const [nth, { blocks }] of found.entries())
    for (const { runEnd, partition, postings } of blocks) {
      partitions.add(partition);
      positions.read(`${runEnd} ${nth}`, new BlockReader(postings), numbers[nth] ?? -1);
    }
  const notFrom = Math.min(end, ...found.map((each) => each.notFrom));
  return { ...positions.page(notFrom - 1), partitions };
}

/**
 * How many blocks are of use. Names with few certificates have no more than six in most cases; one that has filled a page before
 * will fill this one from the first ones. What the server sends beyond 8 kB comes in pieces, each of which wakes the client: six
 * blocks are less.
 */
function maxBlocksOf({ where, looked }: Reach, after: number, keys: number): number {
  if (where === 'near') return Math.max(2, Math.floor((after === 0 ? 6 : 3) / keys));
  // A key may go on and on with what has expired.
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

/**
 * Where what is told of several keys ends, exclusive. On a distributed index each is looked for in a statement of its own, which may see
 * another state of the runs: what ended later would be known of one key, and not of another one.
 */
export async function endOfRuns(reader: PageReader, keys: readonly Buffer[]): Promise<number> {
  if (!reader.isSharded || keys.length <= 1) return Infinity;
  const [row] = await reader.query<{ end: string | null }[]>('SELECT max(to_position) AS end FROM ct_run');
  return Number(row?.end ?? 0);
}

async function lookOneByOne(
  reader: PageReader,
  reach: Reach,
  questions: readonly KeyBehind[],
): Promise<readonly BlocksOfKey[]> {
  const found = await Promise.all(questions.map(async (each) => await look(reader, reach, [each])));
  return found.flat();
}

/** Partitions settle and leave every few days: so many in one page are none of that. */
const maxHomes = 20;

async function lookInHome(
  reader: PageReader,
  postingsIn: (home: Home) => PostingsLookup,
  questions: readonly KeyBehind[],
): Promise<readonly BlocksOfKey[]> {
  const after = questions[0]?.after ?? 0;
  let home = reader.settled.behind(after);
  for (let asked = 0; asked < maxHomes; asked += 1) {
    try {
      const found = await reader.look(postingsIn(home), questions);
      for (const each of found) reader.settled.learn(each.home);
      const elsewhere = found.find(({ notFrom }) => notFrom <= after + 1);
      if (elsewhere === undefined) return found;
      home = elsewhere.home;
    } catch (error) {
      if (home === young || !isUndefinedTable(error)) throw error;
      // The partition has left; what follows is known to those who ask anew.
      reader.settled.forget(home);
      home = young;
    }
  }
  throw new Error(`the first run behind ${after} was in none of ${maxHomes} places`);
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

  /** @param seen up to where was looked */
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
