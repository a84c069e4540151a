import type { Lookup } from '../page-reader';
import {
  anywhereStatements,
  nearStatements,
  onwardStatement,
  type RowStatements,
} from './postings-statements';
import type { RunFilters } from './run-filters';
import { shardOf } from '@certwright/posting-index';
import { type Home, young } from '@certwright/ct-schema';

/** The lookup. */
export interface KeyBehind {
  readonly after: number;
  /** Number of the key. */
  readonly key: number;
  /** Max number of useful blocks. */
  readonly maxBlocks: number;
  /** The same ones for all lookups of a statement. */
  readonly filters: RunFilters;
}

export interface FoundBlock {
  /** Start of its run. */
  readonly from: number;
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
  /** Location of the unread rest, if it was not read because it is elsewhere. */
  readonly home: Home;
  /** Blocks of the same run are in the order of their postings. */
  readonly blocks: readonly FoundBlock[];
}

export type PostingsLookup = Lookup<KeyBehind, BlocksOfKey>;

/** Runs of the home, as far as they are the first ones after the cursor, and blocks begin near the key. */
export const postingsNear = byHome(nearStatements, (rows, _home, maxBlocks) =>
  Math.min(rows.find(isUnread)?.from ?? Infinity, endOfAll(rows, maxBlocks)),
);

/** The first run after the cursor, if it is in the home. */
export const postingsOnward = byHome(
  (home) => ({ all: onwardStatement(home) }),
  ([first], home) => {
    if (first === undefined) return Infinity;
    return first.home === home ? first.runEnd : first.from;
  },
);

/** All runs. */
export const postingsAnywhere = lookupBy(anywhereStatements, (rows, { maxBlocks }) => ({
  notFrom: endOfAll(rows, maxBlocks),
  home: young,
}));

/** A block, or a run that was not read, without postings. In the order of the runs. */
interface FoundRow extends FoundBlock {
  readonly home: Home;
}

function isUnread({ postings }: FoundRow): boolean {
  return postings.length === 0;
}

/** Where the unread rest begins, when there may be more rows. */
function endOfAll(rows: readonly FoundRow[], maxBlocks: number): number {
  return rows.length === maxBlocks ? (rows.at(-1)?.runEnd ?? Infinity) : Infinity;
}

/** One lookup per home. */
function byHome(
  statements: (home: Home) => RowStatements,
  notFrom: (rows: readonly FoundRow[], home: Home, maxBlocks: number) => number,
): (home: Home) => PostingsLookup {
  const lookups = new Map<Home, PostingsLookup>();
  return (home) => {
    const known =
      lookups.get(home) ??
      lookupBy(statements(home), (rows, { maxBlocks }) => ({
        notFrom: notFrom(rows, home, maxBlocks),
        home: rows.find(isUnread)?.home ?? young,
      }));
    lookups.set(home, known);
    return known;
  };
}

function lookupBy(
  { all, passing }: RowStatements,
  unreadOf: (rows: readonly FoundRow[], key: KeyBehind) => Omit<BlocksOfKey, 'blocks'>,
): PostingsLookup {
  const resultOf = (packed: Buffer, key: KeyBehind): BlocksOfKey => {
    const rows = readRows(packed);
    return { ...unreadOf(rows, key), blocks: rows.filter((row) => !isUnread(row)) };
  };
  return {
    async of(reader, keys) {
      const [key] = keys;
      if (key === undefined) return [];
      const columns: unknown[][] = [
        keys.map(({ after }) => after),
        keys.map(({ key: number }) => shardOf(number)),
        keys.map(({ key: number }) => number),
        keys.map(({ maxBlocks }) => maxBlocks),
      ];
      const { filters } = key;
      const without = passing === undefined ? [] : keys.map(({ key: number }) => filters.without(number));
      const isPassing = passing !== undefined && without.some((bits) => bits !== 0);
      if (isPassing) columns.push(without);
      const isOne = keys.length === 1;
      const { one, many } = isPassing ? passing : all;
      const values: unknown[] = isOne ? columns.flat() : columns;
      if (isPassing) values.push(filters.ids);
      const [row] = await reader.query<{ packed: string | null }[]>(isOne ? one : many, values);
      const packed = Buffer.from(row?.packed ?? '', 'base64');
      if (isOne) return [resultOf(packed, key)];
      let at = 0;
      return keys.map((each) => {
        const begin = at + lengthBytes;
        at = begin + packed.readInt32BE(at);
        return resultOf(packed.subarray(begin, at), each);
      });
    },
  };
}

const lengthBytes = 4;
/** Precedes the postings of each row: home, start and end of the run, end of the partition, number of bytes. */
const headBytes = 36;

function readRows(packed: Buffer): FoundRow[] {
  const rows: FoundRow[] = [];
  for (let at = 0; at < packed.length;) {
    const head = { home: bigintAt(packed, at), from: bigintAt(packed, at + 8) };
    const run = { runEnd: bigintAt(packed, at + 16), partition: bigintAt(packed, at + 24) };
    const begin = at + headBytes;
    at = begin + packed.readInt32BE(begin - lengthBytes);
    rows.push({ ...head, ...run, postings: packed.subarray(begin, at) });
  }
  return rows;
}

/** Max 53 bits. */
function bigintAt(bytes: Buffer, at: number): number {
  return bytes.readInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4);
}
