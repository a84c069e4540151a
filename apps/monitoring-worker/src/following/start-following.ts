import { Transactions } from '@certwright/core-schema';
import { indexRange, readingAlone, tbsSha256At } from '@certwright/ct-index';
import { Injectable } from '@nestjs/common';
import { CtDatabase } from '../ct-database/ct-database.module';
import { lockTask, type TaskLease } from '../tasks/task-leases';
import { type FollowerCursor, FollowerRows } from './follower.repository';
import { finishChangesOfOtherServer } from './monitoring-changes';
import { UnreadableEntries } from './unreadable-entries';
import { UnreadableCursors } from './unreadable-cursors.repository';

/** Where following begins or continues. */
@Injectable()
export class StartFollowing {
  constructor(
    private readonly ct: CtDatabase,
    private readonly transactions: Transactions,
    private readonly rows: FollowerRows,
    private readonly unreadable: UnreadableEntries,
    private readonly cursors: UnreadableCursors,
  ) {}

  /** @throws LeaseLost */
  async cursor(lease: TaskLease): Promise<FollowerCursor> {
    const stored = await this.rows.cursor();
    return stored === null ? await this.first(lease) : await this.onThisServer(lease, stored);
  }

  /** The first start ever: what the index has already is the matter of the backfills, one for each change so far. */
  private async first(lease: TaskLease): Promise<FollowerCursor> {
    const [{ now }] = await this.ct.query<[{ now: Date }]>(`SELECT now() AS now`);
    const { next } = await indexRange(readingAlone(this.ct.manager));
    const position = String(BigInt(next) - 1n);
    const digests = await tbsSha256At(this.ct.manager, [position]);
    const cursor: FollowerCursor = {
      ...{ position, tbsSha256: digests.get(position) ?? null, followedTo: now },
      changes: { transactionId: '0', id: '0' },
    };
    const unreadable = await this.unreadable.newest();
    await this.transactions.run(async (tx) => {
      await lockTask(tx, lease);
      await this.rows.begin(tx, cursor);
      await this.rows.addCheckpoint(tx, cursor);
      await this.cursors.store(tx, unreadable);
    });
    return cursor;
  }

  private async onThisServer(lease: TaskLease, stored: FollowerCursor): Promise<FollowerCursor> {
    return await this.transactions.run(async (tx) => {
      await lockTask(tx, lease);
      const changes = await finishChangesOfOtherServer(tx, stored.changes, stored.position);
      if (changes === null) return stored;
      const cursor = { ...stored, changes };
      await this.rows.move(lease, stored, cursor, tx);
      return cursor;
    });
  }
}
