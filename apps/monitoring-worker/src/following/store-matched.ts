import { Transactions, type Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { isMonitored } from '../alerts/due-alerts.repository';
import { type ConcernedIssuance, RecordFindings } from '../findings/record-findings';
import { lockTask, type TaskLease } from '../tasks/task-leases';
import { type FollowerCursor, FollowerRows, heldUntil } from './follower.repository';
import { addBackfills, type Change } from './monitoring-changes';

/** What one transaction stores. */
export interface MatchedBatch {
  /** In the database. */
  readonly stored: FollowerCursor;
  /** Before the batch. */
  readonly untilPosition: string;
  readonly to: FollowerCursor;
  readonly changes: readonly Change[];
  /** Accounts for which nothing is matched from now on. */
  readonly disabledAccounts: readonly string[];
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
    const { stored, to, changes, disabledAccounts, enabledAccounts, concerned, isCheckpointDue } = batch;
    const accounts = disabledAccounts.length + enabledAccounts.length;
    if (changes.length + accounts + concerned.length === 0 && !isCheckpointDue) {
      await this.rows.move(lease, stored, to);
      return;
    }
    await this.transactions.run(async (tx) => await this.storeAll(tx, lease, batch));
  }

  private async storeAll(tx: Tx, lease: TaskLease, batch: MatchedBatch): Promise<void> {
    await lockTask(tx, lease);
    await addBackfills(tx, batch.changes, batch.untilPosition);
    await this.rows.restartBackfills(tx, batch.disabledAccounts, heldUntil);
    await this.rows.restartBackfills(tx, batch.enabledAccounts, batch.untilPosition);
    await cancelDeliveries(tx, batch.changes);
    if (batch.concerned.length > 0) await this.findings.record(tx, batch.concerned, 'stream', null);
    if (batch.isCheckpointDue) await this.rows.addCheckpoint(tx, batch.to);
    await this.rows.move(lease, batch.stored, batch.to, tx);
  }
}

/** What waits for webhooks about domains that were deleted or disabled is not sent; alerts that are still due neither. */
async function cancelDeliveries(tx: Tx, changes: readonly Change[]): Promise<void> {
  const accounts = changes
    .filter(({ object, after }) => object === 'monitored_domain' && after?.enabled !== true)
    .map(({ account }) => account);
  if (accounts.length === 0) return;
  await tx.query(
    `UPDATE webhook_delivery AS delivery SET state = 'canceled', finished_at = clock_timestamp()
     FROM monitoring_finding AS finding
     WHERE delivery.account_id = ANY ($1::bigint[]) AND delivery.state = 'pending' AND delivery.subject LIKE 'finding:%'
       AND finding.account_id = delivery.account_id
       AND finding.tbs_sha256 = decode(substr(delivery.subject, length('finding:') + 1), 'hex') AND NOT ${isMonitored}`,
    [[...new Set(accounts)]],
  );
}
