import { blockTable, type Home } from '@certwright/ct-schema';
import { keysPerShard } from '@certwright/posting-index';

/** Columns of a lookup, and their types. */
const columns = { after: 'bigint', shard: 'smallint', key: 'bigint', most_blocks: 'integer' } as const;

/** Several lookups, or one, whose shard is then known to a distributed database at planning. */
function requested(columnTypes: Readonly<Record<string, string>>) {
  const all = Object.entries(columnTypes);
  const arrays = all.map(([, type], nth) => `$${nth + 1}::${type}[]`);
  const values = all.map(([name, type], nth) => `$${nth + 1}::${type} AS ${name}`);
  return {
    many: `unnest(${arrays.join()}) WITH ORDINALITY AS requested (${Object.keys(columnTypes).join()}, nth)`,
    one: `(SELECT ${values.join()}, 1 AS nth) AS requested`,
  };
}

/**
 * A statement for one row of parameters, and for many, whose parameters are arrays. It is short, as most of its cost is the
 * start: each table or index that it may need takes time, even if it is not read.
 */
export type RowStatement = Readonly<Record<'one' | 'many', string>>;

/** `passing` has two more parameters: bits that say over which runs it passes, and the ids of their filters. */
export interface RowStatements {
  readonly all: RowStatement;
  readonly passing?: RowStatement;
}

/** A found row; `found-blocks.ts` reads it. Some have no block. */
const foundRow = `int8send(home) || int8send(from_position) || int8send(to_position) || int8send(partition)
  || int4send(coalesce(octet_length(postings), 0)) || coalesce(postings, '')`;

/**
 * All found rows are one value, which is faster to send and to read than many; as text, since the driver reads bytea slowly. Of
 * several lookups, those of each follow their length.
 *
 * @param found has `home`, `from_position`, `to_position`, `partition`, `postings`
 * @param order of the found rows, unless they are in order
 */
function rowStatement(
  found: string,
  order = '',
  columnTypes: Readonly<Record<string, string>> = columns,
): RowStatement {
  const { one, many } = requested(columnTypes);
  const rows = `string_agg(${foundRow}, ''::bytea ${order})`;
  return {
    one: `SELECT encode(${rows}, 'base64') AS packed FROM ${one} CROSS JOIN LATERAL (${found}) AS found`,
    many: `
      SELECT encode(string_agg(int4send(coalesce(octet_length(rows), 0)) || coalesce(rows, ''), ''::bytea ORDER BY nth), 'base64') AS packed
      FROM ${many} CROSS JOIN LATERAL (SELECT ${rows} AS rows FROM (${found}) AS found) AS found`,
  };
}

/** Whether the key passes the filter of a block; see posting-block.ts. */
const mayHave = `get_bit(postings, 16 + requested.key % (8 * (get_byte(postings, 0) * 256 + get_byte(postings, 1)))) = 1`;

/** Runs after the cursor, in order. @param condition of a run */
const runsBehind = (condition = '') => `
  SELECT id, home, partition, from_position, to_position, postings AS size FROM ct_run
  WHERE to_position > requested.after + 1 ${condition} ORDER BY to_position`;

/** @param found statement of the rows of a lookup in some runs */
function rowStatements(found: (runs: string) => string): Required<RowStatements> {
  const mayHaveKey =
    'AND coalesce((requested.without >> (array_position($6::bigint[], filter_id) - 1)) & 1, 0) = 0';
  return {
    all: rowStatement(found(runsBehind())),
    passing: rowStatement(found(runsBehind(mayHaveKey)), '', { ...columns, without: 'integer' }),
  };
}

/** In a run: the block that would contain the position after the cursor. @param isNear further condition of the block */
const blockBefore = (table: string, isThere: string, isNear = '') => `
  SELECT postings FROM ${table}
  WHERE ${isThere} AND run = behind.id AND shard = requested.shard AND (first_key, first_position) <= (requested.key, requested.after + 1)
    ${isNear}
  ORDER BY first_key DESC, first_position DESC LIMIT 1`;

/**
 * A block with a key nearly always begins within this distance of it: fifteen times the average distance of blocks, if they have 140
 * postings, and six times if three fifths of the postings are of keys with many. Without such a bound, a backward scan compares all
 * index entries before the wanted one on its page, a hundred on average.
 */
const nearby = `${keysPerShard} / greatest(1, size / 32768)`;
const isNear = `AND first_key >= requested.key - ${nearby}`;
/** None is near, but one may be before. */
const isFar = `postings IS NULL AND requested.key % ${keysPerShard} > ${nearby}`;

/**
 * One descent per run after the cursor, until there are enough rows; runs of other homes, and those without a block near the key,
 * have a row without one.
 */
export function nearStatements(home: Home): RowStatements {
  return rowStatements(
    (runs) => `
    SELECT home, from_position, to_position, partition, postings
    FROM (${runs}) AS behind LEFT JOIN LATERAL (${blockBefore(blockTable(home), `behind.home = ${home}`, isNear)}) AS block ON true
    WHERE home <> ${home} OR ${mayHave} OR ${isFar} ORDER BY to_position LIMIT most_blocks`,
  );
}

/** In runs of all homes, at any distance. */
export const anywhereStatements = rowStatements(
  (runs) => `
  SELECT home, from_position, to_position, partition, postings
  FROM (${runs}) AS behind CROSS JOIN LATERAL (${blockBefore('ct_block', 'ct_block.home = behind.home')}) AS block
  WHERE ${mayHave} ORDER BY to_position LIMIT most_blocks`,
);

/** In the first run after the cursor: the block there, and the following ones with the same key. */
export function onwardStatement(home: Home): RowStatement {
  const table = blockTable(home);
  return rowStatement(
    `
    SELECT home, from_position, to_position, partition, follows, postings
    FROM (${runsBehind()} LIMIT 1) AS behind LEFT JOIN LATERAL (
      SELECT 0 AS follows, postings FROM (${blockBefore(table, `behind.home = ${home}`)}) AS block
      UNION ALL
      (SELECT first_position AS follows, postings FROM ${table}
       WHERE behind.home = ${home} AND run = behind.id AND shard = requested.shard AND first_key = requested.key
         AND first_position > requested.after + 1
       ORDER BY first_position LIMIT most_blocks)) AS block ON true`,
    'ORDER BY follows',
  );
}
