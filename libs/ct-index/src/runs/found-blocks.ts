import type { EntityManager } from 'typeorm';
import type { Lookup } from '../page-reader';
import { anywhereStatement, nearStatement, onwardStatement, type RowStatement } from './postings-statements';
import { shardOf } from '@certwright/posting-index';
import type { Home } from '@certwright/ct-schema';

/** The lookup. */
export interface KeyBehind {
  readonly after: number;
  /** Number of the key. */
  readonly key: number;
  /** Max number of useful blocks. */
  readonly maxBlocks: number;
}

export interface FoundBlock {
  /** End of its run, exclusive. */
  readonly runEnd: number;
  /** Partition of positions, by its end. */
  readonly partition: number;
  readonly postings: Buffer;
}

/** Blocks that may contain a key. */
export interface BlocksOfKey {
  /** Nothing was read from here on; Infinity: there is no more. */
  readonly notFrom: number;
  /** Location of the unread rest, if it differs from the requested one. */
  readonly home: Home;
  /** Blocks of the same run are in the order of their postings. */
  readonly blocks: readonly FoundBlock[];
}

export type PostingsLookup = Lookup<KeyBehind, BlocksOfKey>;

/** Runs of the home, as far as they are the first ones after the cursor. */
export const postingsNear = byHome(nearStatement);

/** The first run after the cursor, if it is in the home. */
export const postingsOnward = byHome(onwardStatement);

/** All runs. */
export const postingsAnywhere = lookupBy(anywhereStatement);

/** One lookup per home. */
function byHome(statement: (home: Home) => RowStatement): (home: Home) => PostingsLookup {
  const lookups = new Map<Home, PostingsLookup>();
  return (home) => {
    const known = lookups.get(home) ?? lookupBy(statement(home));
    lookups.set(home, known);
    return known;
  };
}

function lookupBy({ one, many }: RowStatement): PostingsLookup {
  const query = async (reader: Pick<EntityManager, 'query'>, rows: readonly (readonly number[])[]) => {
    const [first] = rows;
    if (first === undefined) return '';
    const isOne = rows.length === 1;
    const values = isOne ? [...first] : first.map((_, column) => rows.map((row) => row[column]));
    const [row] = await reader.query<{ packed: string }[]>(isOne ? one : many, values);
    return row?.packed ?? '';
  };
  return {
    async of(reader, keys) {
      const rows = keys.map(({ after, key, maxBlocks }) => [after, shardOf(key), key, maxBlocks]);
      return readResults(Buffer.from(await query(reader, rows), 'base64'));
    },
  };
}

/** Precedes the blocks of a lookup: home, the start of the unread range, number of bytes. */
const headBytes = 20;
/** Precedes each block: ends of its run and partition, number of bytes. */
const blockHeadBytes = 20;

function readResults(packed: Buffer): BlocksOfKey[] {
  const results: BlocksOfKey[] = [];
  for (let at = 0; at < packed.length;) {
    const home = bigintAt(packed, at);
    const notFrom = bigintAt(packed, at + 8) || Infinity;
    const begin = at + headBytes;
    at = begin + packed.readInt32BE(begin - 4);
    results.push({ home, notFrom, blocks: readBlocks(packed.subarray(begin, at)) });
  }
  return results;
}

function readBlocks(packed: Buffer): FoundBlock[] {
  const blocks: FoundBlock[] = [];
  for (let at = 0; at < packed.length;) {
    const begin = at + blockHeadBytes;
    const [runEnd, partition] = [bigintAt(packed, at), bigintAt(packed, at + 8)];
    at = begin + packed.readInt32BE(begin - 4);
    blocks.push({ runEnd, partition, postings: packed.subarray(begin, at) });
  }
  return blocks;
}

/** Max 53 bits. */
function bigintAt(bytes: Buffer, at: number): number {
  return bytes.readInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4);
}
