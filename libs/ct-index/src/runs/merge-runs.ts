import {
  blockTable,
  citusIsThere,
  filtersAreThere,
  insertBlocks,
  insertRun,
  nextRunId,
  type Run,
} from '@certwright/ct-schema';
import { firstLivingDay, KeyFilterWriter, RunWriter } from '@certwright/posting-index';
import type { DataSource, EntityManager } from 'typeorm';
import { chooseMerge, type Merge, type MergeLane } from './choose-merge';
import { MergedPostings } from './merged-postings';
import { fetchBlocks, RunSource } from './run-source';

/** One merger per lane, over all processes: keys of advisory locks. */
const laneLocks = {
  small: 7_308_604_102,
  large: 7_308_604_103,
} as const satisfies Record<MergeLane, number>;

/** Margin for wrong clocks: postings that a merge drops are lost. */
const marginDays = 1;

export interface Merged {
  readonly runs: number;
  /** Postings in the new run. */
  readonly postings: number;
}

/**
 * Merges runs in one transaction: a reader sees either the old runs or the new one. Any number of
 * processes may call it at any time; one of them does the work.
 *
 * @param stopping aborts a merge, which may take minutes, without changes
 * @returns null: there is nothing to do, another process is merging, the other lane was first, or it was aborted
 */
export async function mergeRuns(
  database: DataSource,
  lane: MergeLane,
  now: Date,
  stopping?: AbortSignal,
): Promise<Merged | null> {
  try {
    return await database.transaction(async (tx) => await mergeIn(tx, lane, now, stopping));
  } catch (error) {
    if (stopping?.aborted === true && error === stopping.reason) return null;
    if (error instanceof RunsReplaced) return null;
    throw error;
  }
}

/** The same in the caller's transaction. @throws RunsReplaced, the reason of `stopping` */
export async function mergeIn(
  tx: EntityManager,
  lane: MergeLane,
  now: Date,
  stopping?: AbortSignal,
): Promise<Merged | null> {
  if (!(await takeLane(tx, lane))) return null;
  const [{ next, ...schema }] = await tx.query<[{ next: string } & IndexSchema]>(
    `SELECT next, ${citusIsThere} AS "isSharded", ${filtersAreThere} AS "hasFilters" FROM ct_sequence`,
  );
  const today = firstLivingDay(now) - marginDays;
  const merge = chooseMerge(await allRuns(tx), lane, {
    next: Number(next),
    today,
  });
  if (merge === null) return null;
  return await replace(tx, merge, { today, ...schema }, stopping);
}

interface IndexSchema {
  /** Tables may be on several servers. */
  readonly isSharded: boolean;
  /** False before the migration that adds them. */
  readonly hasFilters: boolean;
}

/** Held until the transaction ends. @returns false: another process is merging in this lane */
export async function takeLane(tx: EntityManager, lane: MergeLane): Promise<boolean> {
  const [{ mine }] = await tx.query<[{ mine: boolean }]>(`SELECT pg_try_advisory_xact_lock($1) AS mine`, [
    laneLocks[lane],
  ]);
  return mine;
}

async function allRuns(tx: EntityManager): Promise<Run[]> {
  const rows: Record<keyof Run, string>[] = await tx.query(
    `SELECT id, level, home, partition, from_position AS "from", to_position AS "to", postings,
       half_expired_day AS "halfExpiredDay" FROM ct_run ORDER BY to_position`,
  );
  return rows.map((row) => ({
    id: Number(row.id),
    level: Number(row.level),
    home: Number(row.home),
    partition: Number(row.partition),
    from: Number(row.from),
    to: Number(row.to),
    postings: Number(row.postings),
    halfExpiredDay: row.halfExpiredDay === null ? null : Number(row.halfExpiredDay),
  }));
}

/** Blocks per write, 1 MB. */
const blocksAtATime = 1_024;

async function replace(
  tx: EntityManager,
  { sources, level, home }: Merge,
  { today, isSharded, hasFilters }: { readonly today: number } & IndexSchema,
  stopping: AbortSignal | undefined,
): Promise<Merged | null> {
  const [first, last] = [sources[0], sources.at(-1)];
  if (first === undefined || last === undefined) return null;
  const { from, partition } = first;
  const run = { id: await nextRunId(tx), level, home, partition };
  const writer = new RunWriter(from);
  const filter = new KeyFilterWriter(sources.reduce((sum, { postings }) => sum + postings, 0));
  const expiry = new ExpiryCounts();
  const open = sources.map((source, nth) => new RunSource(source, nth));
  const merged = new MergedPostings(open);
  while (!merged.isDone) {
    await fetchBlocks(tx, open, isSharded);
    stopping?.throwIfAborted();
    merged.run((key, position, day) => {
      if (day < today) return;
      writer.add(key, position, day);
      filter.add(key);
      expiry.add(day);
    });
    if (writer.waiting >= blocksAtATime) await insertBlocks(tx, run, writer.take());
  }
  await insertBlocks(tx, run, writer.end());
  await remove(tx, sources);
  const { postings } = writer;
  const halfExpiredDay = expiry.halfExpiredDay();
  const given = { id: run.id, filter: hasFilters ? filter.end() : null };
  if (postings > 0) await insertRun(tx, { ...run, from, to: last.to, postings, halfExpiredDay }, given);
  return { runs: sources.length, postings };
}

/**
 * The lanes may take the same runs: a merge of a level includes the lower ones in between, and that of a full partition all of its
 * runs, while those are merged in the other lane. The first one to end has them.
 */
class RunsReplaced extends Error {}

/** @throws RunsReplaced */
async function remove(tx: EntityManager, sources: readonly Run[]): Promise<void> {
  const ids = sources.map(({ id }) => id);
  const [, removed] = await tx.query<[unknown, number]>(`DELETE FROM ct_run WHERE id = ANY ($1::int[])`, [
    ids,
  ]);
  if (removed !== ids.length) throw new RunsReplaced('runs have been replaced while they were merged');
  for (const home of new Set(sources.map((source) => source.home)))
    await tx.query(`DELETE FROM ${blockTable(home)} WHERE run = ANY ($1::int[])`, [ids]);
}

/** Number of postings by the day by whose end they have expired. */
class ExpiryCounts {
  private readonly counts = new Map<number, number>();
  private total = 0;

  add(day: number): void {
    this.counts.set(day, (this.counts.get(day) ?? 0) + 1);
    this.total += 1;
  }

  /** The first day by whose end half of them have expired. */
  halfExpiredDay(): number | null {
    let expired = 0;
    for (const [day, count] of [...this.counts].sort(([one], [other]) => one - other)) {
      expired += count;
      if (2 * expired >= this.total) return day;
    }
    return null;
  }
}
