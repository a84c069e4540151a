import { Inject, Injectable } from '@nestjs/common';
import type { TaskLease } from '../tasks/task-leases';
import type { DomainsInMemory } from './domains-in-memory';
import { FollowEvents } from './follow-events';
import type { FollowerCursor } from './follower.repository';
import { matchIssuances } from './matching';
import { type Batch, NextBatch } from './next-batch';
import { StartFollowing } from './start-following';
import { StoreMatched } from './store-matched';
import { UnreadableEntries } from './unreadable-entries';

/** How often the cursor is stored while nothing is found, ms. */
const storeEveryMs = 1_000;

const checkpointEveryMs = 60_000;

/** How often unreadable entries are looked for, ms. */
const unreadableEveryMs = 1_000;

/** Where the follower is. */
interface Position {
  /** In the database. */
  readonly stored: FollowerCursor;
  /** Ahead of it while nothing is found. */
  readonly matched: FollowerCursor;
}

/** Compares each new issuance of the index with the monitored domains of all accounts. */
@Injectable()
export class FollowIndex {
  /** Null: to be read from the database, as nothing was read yet, or the result of a transaction is unknown. */
  private at: Position | null = null;
  private storedAtMs = 0;
  private checkpointAtMs = 0;
  private unreadableAtMs = 0;

  constructor(
    private readonly start: StartFollowing,
    private readonly next: NextBatch,
    private readonly storing: StoreMatched,
    private readonly unreadable: UnreadableEntries,
    @Inject(FollowEvents) private readonly events: FollowEvents,
  ) {}

  /**
   * Matches one batch.
   *
   * @returns whether more follows at once
   * @throws LeaseLost
   */
  async step(lease: TaskLease, domains: DomainsInMemory): Promise<boolean> {
    const at = await this.position(lease, domains);
    // What changes after this was not committed when the batch was matched, and is a matter of the next one.
    this.at = null;
    const applied = await domains.advance(at.stored.changes);
    const batch = await this.next.read(lease, at.stored, at.matched);
    if (typeof batch.continuation === 'object') {
      const { from } = batch.continuation;
      this.at = { stored: from, matched: from };
      return true;
    }
    const hasMoreChanges = applied.changes.length > 0;
    this.at = await this.store(lease, domains, at, batch, applied);
    await this.followUnreadable(lease, domains);
    return batch.isFull || hasMoreChanges;
  }

  forget(): void {
    this.at = null;
    this.events.leaseLost();
  }

  private async position(lease: TaskLease, domains: DomainsInMemory): Promise<Position> {
    if (this.at !== null) return this.at;
    const stored = await this.start.cursor(lease);
    this.events.began(stored.position, domains.index.size);
    return { stored, matched: stored };
  }

  private async store(
    lease: TaskLease,
    domains: DomainsInMemory,
    { stored, matched }: Position,
    { issuances, cursor }: Batch,
    {
      changes,
      disabledAccounts,
      enabledAccounts,
      cursor: changeCursor,
    }: Awaited<ReturnType<DomainsInMemory['advance']>>,
  ): Promise<Position> {
    const { concerned, incomplete } = matchIssuances(domains.index, issuances);
    if (incomplete.length > 0) this.events.incomplete(incomplete);
    const nowMs = performance.now();
    const to = { ...cursor, changes: changeCursor };
    const accounts = disabledAccounts.length + enabledAccounts.length;
    const isToStore = concerned.length + changes.length + accounts > 0;
    const isStored = isToStore || nowMs - this.storedAtMs >= storeEveryMs;
    if (isStored) {
      const isCheckpointDue = nowMs - this.checkpointAtMs >= checkpointEveryMs;
      await this.storing.store(lease, {
        ...{ stored, to, changes, disabledAccounts, enabledAccounts, concerned, isCheckpointDue },
        untilPosition: matched.position,
      });
      domains.stored();
      this.storedAtMs = nowMs;
      if (isCheckpointDue) this.checkpointAtMs = nowMs;
    }
    this.events.matched(issuances.length, to.position, to.followedTo, domains.index.size);
    return { stored: isStored ? to : stored, matched: isStored ? to : { ...to, changes: stored.changes } };
  }

  private async followUnreadable(lease: TaskLease, { index }: DomainsInMemory): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.unreadableAtMs < unreadableEveryMs) return;
    this.unreadableAtMs = nowMs;
    await this.unreadable.follow(lease, index);
  }
}
