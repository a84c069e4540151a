import type { Tx } from '@certwright/core-schema';
import { LeaseLost, leases } from '@certwright/postgres';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { TaskLease } from '../tasks/task-leases';
import type { Checkpoint, MatchedPosition } from './index-place';
import type { ChangeCursor } from './monitoring-changes';

/** How far the index and the changes were followed. */
export interface FollowerCursor extends MatchedPosition {
  readonly followedTo: Date;
  readonly changes: ChangeCursor;
}

/** Earlier positions are kept this long: an older backup than that is matched from its beginning. */
const keptCheckpoints = `interval '7 days'`;

const checkpointsPerPage = 500;

/** `until_position` of a backfill that is not run before the account is enabled: then it ends where following has come to. */
export const heldUntil = '9223372036854775807';

type Reader = Pick<Tx, 'query'>;

/** Accounts for which nothing is matched, as they are stored. */
export async function heldAccounts(reader: Reader): Promise<ReadonlySet<string>> {
  const rows = await reader.query<{ account: string }[]>(
    `SELECT DISTINCT account_id AS account FROM monitoring_backfill
     WHERE state IN ('waiting', 'running') AND until_position = ${heldUntil}`,
  );
  return new Set(rows.map(({ account }) => account));
}

@Injectable()
export class FollowerRows {
  constructor(private readonly database: DataSource) {}

  /** @returns null before the first start */
  async cursor(): Promise<FollowerCursor | null> {
    const [row] = await this.database.query<
      (Omit<FollowerCursor, 'changes'> & { changeTransactionId: string; changeId: string })[]
    >(
      `SELECT position, tbs_sha256 AS "tbsSha256", followed_to AS "followedTo",
         change_transaction_id AS "changeTransactionId", change_id AS "changeId" FROM monitoring_follower`,
    );
    if (row === undefined) return null;
    const { changeTransactionId: transactionId, changeId: id, ...cursor } = row;
    return { ...cursor, changes: { transactionId, id } };
  }

  async begin(tx: Reader, { position, tbsSha256, followedTo, changes }: FollowerCursor): Promise<void> {
    await tx.query(
      `INSERT INTO monitoring_follower
         (position, tbs_sha256, followed_to, moved_at, change_transaction_id, change_id)
       VALUES ($1, $2, $3, now(), $4, $5)`,
      [position, tbsSha256, followedTo, changes.transactionId, changes.id],
    );
  }

  /**
   * One statement, so that nothing else is needed while nothing is found.
   *
   * @param writer default: no transaction. One that has called `lockTask`: no other process takes the lease before it ends, so that
   *   it may take longer than the lease. A batch of many findings would otherwise be repeated without end.
   * @throws LeaseLost also when the cursor is not where this process left it
   */
  async move(
    lease: TaskLease,
    from: MatchedPosition,
    to: FollowerCursor,
    writer: Reader = this.database,
  ): Promise<void> {
    const isHeld = writer === this.database ? leases.isHeld('$2') : `lease_token = $2`;
    const [, moved] = await writer.query<[unknown, number]>(
      `WITH held AS (SELECT 1 FROM monitoring_task WHERE task = $1 AND ${isHeld} FOR UPDATE)
       UPDATE monitoring_follower SET position = $4, tbs_sha256 = $5, followed_to = $6, moved_at = clock_timestamp(),
         change_transaction_id = $7, change_id = $8
       WHERE position = $3 AND EXISTS (SELECT FROM held)`,
      [
        ...[lease.task, lease.token, from.position, to.position, to.tbsSha256, to.followedTo],
        ...[to.changes.transactionId, to.changes.id],
      ],
    );
    if (moved === 0) throw new LeaseLost('monitoring_task', lease.task, lease.token);
  }

  /** An index that does not grow keeps its newest checkpoint. */
  async addCheckpoint(tx: Reader, { position, tbsSha256 }: MatchedPosition): Promise<void> {
    if (tbsSha256 === null) return;
    await tx.query(
      `INSERT INTO monitoring_checkpoint (position, tbs_sha256) VALUES ($1, $2)
       ON CONFLICT (position) DO UPDATE SET tbs_sha256 = excluded.tbs_sha256, created_at = excluded.created_at`,
      [position, tbsSha256],
    );
    await tx.query(`DELETE FROM monitoring_checkpoint WHERE created_at < now() - ${keptCheckpoints}`);
  }

  /** Newest first. */
  async checkpointsBefore(position: string): Promise<readonly Checkpoint[]> {
    return await this.database.query<Checkpoint[]>(
      `SELECT position, tbs_sha256 AS "tbsSha256", created_at AS "createdAt" FROM monitoring_checkpoint
       WHERE position < $1 ORDER BY position DESC LIMIT ${checkpointsPerPage}`,
      [position],
    );
  }

  async forgetCheckpointsAfter(tx: Reader, position: string): Promise<void> {
    await tx.query(`DELETE FROM monitoring_checkpoint WHERE position > $1`, [position]);
  }

  /** The index was restored: what it has after the position is matched as new. */
  async shortenBackfills(tx: Reader, position: string): Promise<void> {
    await tx.query(
      `UPDATE monitoring_backfill SET until_position = $1, position = least(position, $1)
       WHERE state IN ('waiting', 'running') AND until_position > $1 AND until_position < ${heldUntil}`,
      [position],
    );
  }

  /**
   * The backfills of an account that was disabled begin again: nothing was matched for it.
   *
   * @param untilPosition `heldUntil`: the account is disabled
   */
  async restartBackfills(tx: Reader, accounts: readonly string[], untilPosition: string): Promise<void> {
    if (accounts.length === 0) return;
    await tx.query(
      `INSERT INTO monitoring_backfill (change_id, account_id, name, until_position)
       SELECT max(change.id), domain.account_id, domain.name, $2::bigint
       FROM monitored_domain AS domain
       JOIN monitoring_change AS change
         ON change.account_id = domain.account_id AND change.object = 'monitored_domain' AND change.name = domain.name
       WHERE domain.account_id = ANY ($1::bigint[]) AND domain.enabled
       GROUP BY domain.account_id, domain.name
       ON CONFLICT (change_id) DO UPDATE
         SET state = 'waiting', position = 0, until_position = excluded.until_position, finished_at = NULL`,
      [accounts, untilPosition],
    );
    // Also those of domains that were deleted meanwhile: they are canceled.
    await tx.query(
      `UPDATE monitoring_backfill SET until_position = $2
       WHERE account_id = ANY ($1::bigint[]) AND state IN ('waiting', 'running') AND until_position = ${heldUntil}`,
      [accounts, untilPosition],
    );
  }
}
