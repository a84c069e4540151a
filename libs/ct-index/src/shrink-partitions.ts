import { citusIsThere } from '@certwright/ct-schema';
import type { DataSource, EntityManager } from 'typeorm';
import { fullPartitions, issuanceTable, lockPartitions, unlessDropped } from './partitions';
import { takeLane } from './runs/merge-runs';

/** Max certificates of a full partition that are still valid and are copied: a thousandth of it, in about a second. */
const defaultMaxLiving = 20_000;

/** A partition with fewer issuances than this multiple of the max is not worth it: it was shrunk before. */
const minGain = 10;

/**
 * A partition of positions is dropped when its last certificate has expired. Before that, one with few valid ones is reduced to them:
 * otherwise a single certificate that is valid for years would keep millions of others. Not on Citus, where this was not tried.
 *
 * @returns names of the shrunk tables
 */
export async function shrinkExpired(
  database: DataSource,
  now: Date,
  maxLiving = defaultMaxLiving,
): Promise<readonly string[]> {
  if (!(await canShrink(database))) return [];
  const shrunk: string[] = [];
  for (const end of await fullPartitions(database)) {
    if (await unlessDropped(shrinkOne(database, end, now, maxLiving), false)) shrunk.push(issuanceTable(end));
  }
  return shrunk;
}

async function shrinkOne(database: DataSource, end: number, now: Date, maxLiving: number): Promise<boolean> {
  const living = await fewLiving(database, end, now, maxLiving);
  if (living === null || !(await hasMore(database, end, minGain * maxLiving))) return false;
  return await shrink(database, end, living);
}

/** The schema of the previous release lacks the function. */
async function canShrink(database: Pick<EntityManager, 'query'>): Promise<boolean> {
  const [{ can }] = await database.query<[{ can: boolean }]>(
    `SELECT to_regprocedure('ct_shrink_partition(bigint,bigint[])') IS NOT NULL AND NOT ${citusIsThere} AS can`,
  );
  return can;
}

/**
 * The positions of the valid certificates, if they are few. Postings are merged again when half of them have expired, so their
 * number tells without reading the partition that many are valid.
 */
async function fewLiving(
  database: DataSource,
  end: number,
  now: Date,
  maxLiving: number,
): Promise<readonly string[] | null> {
  return await database.transaction(async (tx) => {
    const [{ postings }] = await tx.query<[{ postings: string }]>(
      `SELECT coalesce(sum(postings), 0) AS postings FROM ct_run WHERE partition = $1`,
      [end],
    );
    if (Number(postings) > maxLiving) return null;
    await tx.query(`SET LOCAL statement_timeout = 0`);
    const living = await tx.query<{ position: string }[]>(
      `SELECT position FROM ${issuanceTable(end)} WHERE not_after >= $1 LIMIT $2`,
      [now, maxLiving + 1],
    );
    return living.length > maxLiving ? null : living.map(({ position }) => position);
  });
}

async function hasMore(database: DataSource, end: number, count: number): Promise<boolean> {
  const [{ more }] = await database.query<[{ more: boolean }]>(
    `SELECT count(*) > $1 AS more FROM (SELECT FROM ${issuanceTable(end)} LIMIT $1 + 1) AS first`,
    [count],
  );
  return more;
}

/** @returns false: a merge is running; it is shrunk in a later round */
async function shrink(database: DataSource, end: number, living: readonly string[]): Promise<boolean> {
  return await database.transaction(async (tx) => {
    await lockPartitions(tx);
    for (const lane of ['small', 'large'] as const) if (!(await takeLane(tx, lane))) return false;
    await tx.query(`SELECT ct_shrink_partition($1, $2)`, [end, living]);
    return true;
  });
}
