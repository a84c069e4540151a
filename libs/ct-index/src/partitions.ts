import type { DataSource, EntityManager } from 'typeorm';
import { takeLane } from './runs/merge-runs';
import { blockTable, isUndefinedTable } from '@certwright/ct-schema';

/** Issuances per partition. Every page reads each partition after its cursor, so they are few and large. */
const defaultPositionsPerPartition = 20_000_000;

/** Lock for creating and dropping partitions, across processes. */
const partitionLock = 7_308_604_101;

/** Max time that readers of a table wait while a partition is created or dropped. */
const tableLockTimeoutMs = 3_000;

/** Months with a separate partition of `ct_known`, from the current one; the others share one. */
const knownMonths = { before: 1, after: 40 };

/** Known issuances, by month of expiry. */
export function knownTable(notAfter: Date): string {
  return `ct_known_${monthName(notAfter)}`;
}

/** Issuances, by the end of their positions. */
export function issuanceTable(end: number): string {
  return `ct_issuance_p${end}`;
}

/** Known issuances that expire in a month without a table. */
const otherKnown = 'ct_known_other';

/**
 * Creates the partitions for the next positions and the coming months. Called at start and every few minutes: well
 * before the last one is full.
 *
 * @param ahead number of positions that must have a partition
 */
export async function ensurePartitions(
  database: DataSource,
  now: Date,
  ahead = defaultPositionsPerPartition,
  each = defaultPositionsPerPartition,
): Promise<void> {
  await database.transaction(async (tx) => {
    await lockPartitions(tx);
    const [{ next, made }] = await tx.query<[{ next: string; made: string }]>(
      `SELECT next, (
         SELECT coalesce(max((regexp_match(relname, '^ct_issuance_p(\\d+)$'))[1]::bigint), 0)
         FROM pg_class WHERE relkind = 'r' AND relname ~ '^ct_issuance_p\\d+$') AS made
       FROM ct_sequence`,
    );
    const maker = (await hasFunctions(tx)) ? byFunctions : asOwner;
    // The number in a partition's name is its end, exclusive.
    for (let from = Number(made); from < Number(next) + ahead; from += each)
      await maker.positions(tx, from, from + each);
    await makeKnown(tx, maker, now);
  });
}

async function makeKnown(tx: EntityManager, maker: PartitionMaker, now: Date): Promise<void> {
  const made = new Set(await tablesLike(tx, '^ct_known_\\d{6}$'));
  const missing: Month[] = [];
  for (let offset = -knownMonths.before; offset <= knownMonths.after; offset += 1) {
    const each = month(now, offset);
    if (!made.has(`ct_known_${each[0]}`)) missing.push(each);
  }
  const [first, last] = [missing[0], missing.at(-1)];
  if (first === undefined || last === undefined) return;
  // Certificates with a long validity may be there already, and PostgreSQL rejects a month whose rows are in the shared table.
  const range = [first[1], last[2]];
  const inRange = `FROM ${otherKnown} WHERE not_after >= $1::timestamptz AND not_after < $2::timestamptz`;
  await tx.query(`SELECT FROM ct_sequence FOR UPDATE`);
  const hasRows = (await tx.query<unknown[]>(`SELECT ${inRange} LIMIT 1`, range)).length > 0;
  if (hasRows) {
    await tx.query(
      `CREATE TEMPORARY TABLE ct_known_moved (position bigint, tbs uuid, not_after timestamptz) ON COMMIT DROP`,
    );
    await tx.query(`INSERT INTO ct_known_moved SELECT position, tbs, not_after ${inRange}`, range);
    await tx.query(`DELETE ${inRange}`, range);
  }
  for (const each of missing) await maker.known(tx, each);
  if (hasRows)
    await tx.query(
      `INSERT INTO ct_known (position, tbs, not_after) SELECT position, tbs, not_after FROM ct_known_moved`,
    );
}

/** The schema of an earlier release has none, and its processes connect as the owner of the tables. */
async function hasFunctions(tx: EntityManager): Promise<boolean> {
  const [{ has }] = await tx.query<[{ has: boolean }]>(
    `SELECT to_regprocedure('ct_drop_partition(text)') IS NOT NULL AS has`,
  );
  return has;
}

interface PartitionMaker {
  positions(tx: EntityManager, from: number, end: number): Promise<unknown>;
  known(tx: EntityManager, month: Month): Promise<unknown>;
  drop(tx: EntityManager, name: string): Promise<unknown>;
}

const byFunctions: PartitionMaker = {
  positions: async (tx, from, end) => await tx.query(`SELECT ct_make_positions($1, $2)`, [from, end]),
  known: async (tx, [, from]) => await tx.query(`SELECT ct_make_known($1)`, [from]),
  drop: async (tx, name) => await tx.query(`SELECT ct_drop_partition($1)`, [name]),
};

const asOwner: PartitionMaker = {
  positions: async (tx, from, end) => {
    await attachNew(tx, 'ct_issuance', issuanceTable(end), `FROM (${from}) TO (${end})`);
    await attachNew(tx, 'ct_block', blockTable(end), `IN (${end})`);
    await tx.query(`INSERT INTO ct_partition (end_position) VALUES ($1)`, [end]);
  },
  known: async (tx, [name, from, to]) =>
    await tx.query(
      `CREATE TABLE IF NOT EXISTS ct_known_${name} PARTITION OF ct_known FOR VALUES FROM ('${from}') TO ('${to}')`,
    ),
  drop: async (tx, name) => await tx.query(`DROP TABLE ${name}`),
};

/** ATTACH does not block, whereas CREATE TABLE … PARTITION OF waits for all readers and writers, and for merges of minutes. */
async function attachNew(tx: EntityManager, parent: string, name: string, values: string): Promise<void> {
  await tx.query(`CREATE TABLE ${name} (LIKE ${parent} INCLUDING ALL)`);
  await tx.query(`ALTER TABLE ${parent} ATTACH PARTITION ${name} FOR VALUES ${values}`);
}

/**
 * Drops unreachable data: whole partitions, never row by row. These are partitions of positions whose last
 * certificate has expired, and past months of known issuances. Expiry is final, so it is checked without
 * a lock; each drop holds one briefly.
 *
 * @returns names of the dropped tables
 */
export async function dropExpired(database: DataSource, now: Date): Promise<readonly string[]> {
  const gone: string[] = [];
  for (const end of await fullPartitions(database)) {
    const name = issuanceTable(end);
    if (await unlessDropped(isAlive(database, name, now), true)) continue;
    gone.push(...(await drop(database, [name, blockTable(end)], end)));
  }
  const months = await tablesLike(database, '^ct_known_\\d{6}$');
  const first = `ct_known_${month(now, -1)[0]}`;
  gone.push(
    ...(await drop(
      database,
      months.filter((name) => name < first),
    )),
  );
  return gone;
}

/** The ends of the partitions of positions that no longer grow. */
export async function fullPartitions(database: DataSource): Promise<readonly number[]> {
  const [{ next }] = await database.query<[{ next: string }]>(`SELECT next FROM ct_sequence`);
  const names = await tablesLike(database, '^ct_issuance_p\\d+$');
  return names.map((name) => Number(name.slice('ct_issuance_p'.length))).filter((end) => end <= Number(next));
}

/** Another process may drop a partition meanwhile. */
export async function unlessDropped<T>(work: Promise<T>, dropped: T): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (isUndefinedTable(error)) return dropped;
    throw error;
  }
}

/** Whether a partition has an unexpired certificate. Usually the first row has one; at the end of its life all rows are read. */
async function isAlive(database: DataSource, name: string, now: Date): Promise<boolean> {
  return await database.transaction(async (tx) => {
    await tx.query(`SET LOCAL statement_timeout = 0`);
    const alive = await tx.query<unknown[]>(`SELECT FROM ${name} WHERE not_after >= $1 LIMIT 1`, [now]);
    return alive.length > 0;
  });
}

async function tablesLike(database: Pick<EntityManager, 'query'>, pattern: string): Promise<string[]> {
  const tables = await database.query<{ name: string }[]>(
    `SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relname ~ $1 ORDER BY relname`,
    [pattern],
  );
  return tables.map(({ name }) => name);
}

/** Unless another process has done so. @param tables in the locking order of writers */
async function drop(
  database: DataSource,
  tables: readonly string[],
  partition: number | null = null,
): Promise<readonly string[]> {
  if (tables.length === 0) return [];
  // Before the tables, in a transaction of its own: Citus rejects one that changes rows as one user and tables as another.
  if (partition !== null && !(await dropRuns(database, partition))) return [];
  return await database.transaction(async (tx) => {
    await lockPartitions(tx);
    const there = await tx.query<{ name: string }[]>(
      `SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relname = ANY ($1::text[])
       ORDER BY array_position($1::text[], relname::text)`,
      [tables],
    );
    const maker = (await hasFunctions(tx)) ? byFunctions : asOwner;
    for (const { name } of there) await maker.drop(tx, name);
    return there.map(({ name }) => name);
  });
}

/**
 * Few blocks are unmerged when all their postings have expired.
 *
 * @returns false: a merge may have started before the partition was full, or take minutes; it is dropped in a later round
 */
async function dropRuns(database: DataSource, partition: number): Promise<boolean> {
  return await database.transaction(async (tx) => {
    await lockPartitions(tx);
    for (const lane of ['small', 'large'] as const) if (!(await takeLane(tx, lane))) return false;
    await tx.query(`DELETE FROM ct_block_young WHERE run IN (SELECT id FROM ct_run WHERE partition = $1)`, [
      partition,
    ]);
    await tx.query(`DELETE FROM ct_run WHERE partition = $1`, [partition]);
    await tx.query(`DELETE FROM ct_partition WHERE end_position = $1`, [partition]);
    return true;
  });
}

/**
 * Creating or dropping a partition waits for all readers and writers of the whole table, and all later ones queue behind it:
 * hence the short timeout. The round is repeated.
 */
export async function lockPartitions(tx: EntityManager): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock($1)`, [partitionLock]);
  await tx.query(`SET LOCAL lock_timeout = '${tableLockTimeoutMs}ms'`);
}

/** `YYYYMM`, the start of the month and that of the next month. */
type Month = readonly [string, string, string];

function month(now: Date, offset: number): Month {
  const first = (more: number) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset + more, 1));
  return [monthName(first(0)), first(0).toISOString(), first(1).toISOString()];
}

function monthName(date: Date): string {
  return String(date.getUTCFullYear() * 100 + date.getUTCMonth() + 1);
}
