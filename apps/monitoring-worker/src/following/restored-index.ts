import { Transactions } from '@certwright/core-schema';
import { Inject, Injectable } from '@nestjs/common';
import { CtDatabase } from '../ct-database/ct-database.module';
import { lockTask, type TaskLease } from '../tasks/task-leases';
import { FollowEvents } from './follow-events';
import { type FollowerCursor, FollowerRows } from './follower.repository';
import { type Checkpoint, continuity, type IndexNow, newestAgreeing, wasDropped } from './index-place';

/** A replica that lacks what was matched is expected to catch up within this time, ms; else its primary was restored. */
const replicaPatienceMs = 60_000;

/** Backups are not older than checkpoints; if one is, this is how long before everything may be unmatched, ms. */
const oldestCheckpointMs = 7 * 24 * 60 * 60 * 1_000;

/** `wait`: the issuances after the cursor cannot be read yet. */
export type Continuation = 'go on' | 'wait' | { readonly from: FollowerCursor };

/**
 * Detects that the index lacks issuances that were matched: it was restored from a backup, or failed over to a copy without its
 * newest commits. It gives their positions to other issuances then. Findings exist once, so that matching again does no harm.
 */
@Injectable()
export class RestoredIndex {
  private behindSinceMs: number | null = null;

  constructor(
    private readonly ct: CtDatabase,
    private readonly rows: FollowerRows,
    private readonly transactions: Transactions,
    @Inject(FollowEvents) private readonly events: FollowEvents,
  ) {}

  /**
   * @param matched maybe ahead of what is stored
   * @param now read after the issuances that follow
   */
  async check(
    lease: TaskLease,
    stored: FollowerCursor,
    matched: FollowerCursor,
    now: IndexNow,
  ): Promise<Continuation> {
    const found = continuity(matched, now);
    if (found === 'behind' && !this.isPatienceOver(matched, now)) return 'wait';
    if (found !== 'behind') this.behindSinceMs = null;
    if (found === 'same') return 'go on';
    if (found === 'gone' && (await wasDropped(this.ct.manager, matched.position))) return 'go on';
    this.behindSinceMs = null;
    return { from: await this.walkBack(lease, stored, matched) };
  }

  private isPatienceOver({ position }: FollowerCursor, { next }: IndexNow): boolean {
    if (this.behindSinceMs === null) this.events.behind(position, next);
    this.behindSinceMs ??= performance.now();
    return performance.now() - this.behindSinceMs >= replicaPatienceMs;
  }

  private async walkBack(
    lease: TaskLease,
    stored: FollowerCursor,
    matched: FollowerCursor,
  ): Promise<FollowerCursor> {
    const agreeing = await this.newestAgreeing(stored);
    const from: FollowerCursor = {
      position: agreeing?.position ?? '0',
      tbsSha256: agreeing?.tbsSha256 ?? null,
      followedTo: agreeing?.createdAt ?? new Date(stored.followedTo.getTime() - oldestCheckpointMs),
      changes: stored.changes,
    };
    await this.transactions.run(async (tx) => {
      await lockTask(tx, lease);
      await this.rows.forgetCheckpointsAfter(tx, from.position);
      await this.rows.shortenBackfills(tx, from.position);
      await this.rows.move(lease, stored, from, tx);
    });
    this.events.restored(from.position, matched.position);
    return from;
  }

  private async newestAgreeing(stored: FollowerCursor): Promise<Checkpoint | null> {
    let before = String(BigInt(stored.position) + 1n);
    for (;;) {
      const page = await this.rows.checkpointsBefore(before);
      const last = page.at(-1);
      if (last === undefined) return null;
      const agreeing = await newestAgreeing(this.ct.manager, page);
      if (agreeing !== null) return agreeing;
      before = last.position;
    }
  }
}
