import { randomInt } from 'node:crypto';
import { databaseErrorCode } from '@certwright/errors';
import type { EntityManager } from 'typeorm';
import { BinaryRows } from '../copy/binary-rows';
import { copyIn } from '../copy/copy-in';
import type { ShardBlock } from '@certwright/posting-index';

/**
 * Where the blocks of a run are: `young`, in one table whose space is used again and again; or the table of the partition of
 * positions that it covers as a whole, by the end of that partition.
 */
export type Home = number;
export const young: Home = 0;

/**
 * Table of the blocks of a home. Used directly, so that nothing waits for locks on its parent while partitions are
 * created.
 */
export function blockTable(home: Home): string {
  return home === young ? 'ct_block_young' : `ct_block_p${home}`;
}

/** Of a partition that has left. */
export function isUndefinedTable(error: unknown): boolean {
  return databaseErrorCode(error) === '42P01';
}

export interface NewRun {
  readonly level: number;
  readonly home: Home;
  /** End of the partition of positions, which a run never goes beyond. */
  readonly partition: number;
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

export interface Run extends NewRun {
  readonly id: number;
  readonly postings: number;
  /** A day by whose end half of its postings have expired, since 1970; null: not counted. */
  readonly halfExpiredDay: number | null;
}

/** For blocks that are written before their run. */
export async function nextRunId(tx: EntityManager): Promise<number> {
  const [{ id }] = await tx.query<[{ id: number }]>(
    `SELECT nextval(pg_get_serial_sequence('ct_run', 'id'))::integer AS id`,
  );
  return id;
}

const filterIds = 2 ** 48 - 1;

/** @param run without an id it gets the next one @returns its id */
export async function insertRun(
  tx: EntityManager,
  run: Omit<Run, 'id'>,
  given: { readonly id?: number; readonly filter?: Buffer | null } = {},
): Promise<number> {
  const { id: givenId, filter = null } = given;
  const values: unknown[] = [givenId, run.level, run.home, run.partition, run.from, run.to, run.postings];
  values.push(run.halfExpiredDay);
  // Its id is random: numbers of runs are used again when a fail-over loses their transaction.
  if (filter !== null) values.push(randomInt(filterIds), filter);
  const [{ id }] = await tx.query<[{ id: number }]>(
    `INSERT INTO ct_run (id, level, home, partition, from_position, to_position, postings, half_expired_day
       ${filter === null ? '' : ', filter_id, filter'})
     VALUES (coalesce($1, nextval(pg_get_serial_sequence('ct_run', 'id'))), $2, $3, $4, $5, $6, $7, $8
       ${filter === null ? '' : ', $9, $10'}) RETURNING id`,
    values,
  );
  return id;
}

/** Whether runs can have filters: not before the migration that adds them. */
export const filtersAreThere = `EXISTS (
  SELECT FROM pg_attribute WHERE attrelid = 'ct_run'::regclass AND attname = 'filter' AND NOT attisdropped)`;

/** Size of most blocks with their other columns, in bytes. */
const usualBlock = 1_024;

export async function insertBlocks(
  tx: EntityManager,
  { id, home }: Pick<Run, 'id' | 'home'>,
  blocks: readonly ShardBlock[],
): Promise<void> {
  if (blocks.length === 0) return;
  const rows = new BinaryRows(6, blocks.length * usualBlock);
  for (const { shard, firstKey, firstPosition, bytes } of blocks) {
    rows.row();
    rows.bigint(home);
    rows.bigint(firstKey);
    rows.bigint(firstPosition);
    rows.integer(id);
    rows.smallint(shard);
    rows.bytes(bytes);
  }
  const columns = '(home, first_key, first_position, run, shard, postings)';
  await copyIn(tx, `${blockTable(home)} ${columns}`, rows);
}
