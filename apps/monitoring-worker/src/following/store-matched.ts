import { Transactions, type Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { type ConcernedIssuance, RecordFindings } from '../findings/record-findings';
import { lockTask, type TaskLease } from '../tasks/task-leases';
import { type FollowerCursor, FollowerRows } from './follower.repository';
import { addBackfills, type Change } from './monitoring-changes';

/** What one transaction stores. */
export interface MatchedBatch {
  /** In the database. */
  readonly stored: FollowerCursor;
  /** Before the batch. */
  readonly untilPosition: string;
  readonly to: FollowerCursor;
  readonly changes: readonly Change[];
  /** Accounts that were disabled, and are no longer. */
  readonly enabledAccounts: readonly string[];
  readonly concerned: readonly ConcernedIssuance[];
  readonly isCheckpointDue: boolean;
}

@Injectable()
export class StoreMatched {
  constructor(
    private readonly transactions: Transactions,
    private readonly rows: FollowerRows,
    private readonly findings: RecordFindings,
  ) {}

  /** @throws LeaseLost */
  async store(lease: TaskLease, batch: MatchedBatch): Promise<void> {
    const { stored, to, changes, enabledAccounts, concerned, isCheckpointDue } = batch;
    if (changes.length + enabledAccounts.length + concerned.length === 0 && !isCheckpointDue) {
      await this.rows.move(lease, stored, to);
      return;
    }
    await this.transactions.run(async (tx) => await this.storeAll(tx, lease, batch));
  }

  private async storeAll(tx: Tx, lease: TaskLease, batch: MatchedBatch): Promise<void> {
    await lockTask(tx, lease);
    await addBackfills(tx, batch.changes, batch.untilPosition);
    await this.rows.restartBackfills(tx, batch.enabledAccounts, batch.untilPosition);
    if (batch.concerned.length > 0) await this.findings.record(tx, batch.concerned, 'stream', null);
    if (batch.isCheckpointDue) await this.rows.addCheckpoint(tx, batch.to);
    await this.rows.move(lease, batch.stored, batch.to, tx);
  }
}
